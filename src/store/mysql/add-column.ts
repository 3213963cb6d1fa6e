/** Statements that add a column. They do nothing if the table has it: `add column` cannot be repeated on MySQL. */
export function addColumn(table: string, column: string, type: string): string[] {
  return unlessThere({ table, column }, `alter table ${table} add column ${column} ${type}`);
}

/** Statements that run `alter`, which adds this column. They do nothing if the table has the column. */
function unlessThere({ table, column }: { table: string; column: string }, alter: string): string[] {
  return [
    `set @punctual_step = (select if(count(*) = 0, '${alter}', 'do 0') from information_schema.columns
        where table_schema = database() and table_name = '${table}' and column_name = '${column}')`,
    "prepare punctual_step from @punctual_step",
    "execute punctual_step",
    "deallocate prepare punctual_step",
  ];
}
