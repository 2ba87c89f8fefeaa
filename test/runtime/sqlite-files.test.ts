import { sqliteLedger } from "../../adapters/sqlite/index.ts";
import { sqliteFiles } from "../contract/sqlite-files.ts";

sqliteFiles("node:sqlite", sqliteLedger);
