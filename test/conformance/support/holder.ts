// Holds the write lock of a SQLite file. Arguments: path, milliseconds. Says "held" once it does.
import { DatabaseSync } from "node:sqlite";

const [path, ms] = process.argv.slice(2) as [string, string];
const db = new DatabaseSync(path, { timeout: 5000 });
db.exec("begin immediate; create table held (n integer); insert into held values (1)");
process.stdout.write("held\n");
setTimeout(() => {
  db.exec("commit");
  db.close();
}, Number(ms));
