/** Real exports on tensorrt. */
import { testAccounts } from "./zoo/accounts.ts";
import { useReports } from "./zoo/reports.ts";
import { testTwins } from "./zoo/twins.ts";

const reports = useReports("tensorrt");
testAccounts(reports);
testTwins(reports);
