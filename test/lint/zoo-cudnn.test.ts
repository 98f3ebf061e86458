/** Real exports on cudnn. */
import { testAccounts } from "./zoo/accounts.ts";
import { useReports } from "./zoo/reports.ts";
import { testTwins } from "./zoo/twins.ts";
import { testUnsafe } from "./zoo/unsafe.ts";

const reports = useReports("cudnn");
testAccounts(reports);
testTwins(reports);
testUnsafe(reports);
