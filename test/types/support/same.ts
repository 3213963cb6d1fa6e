type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only if both types are equal. Nothing here is executed: tsc is the test. */
export declare function same<A, B>(...proof: Equal<A, B> extends true ? [] : ["these types differ"]): void;
