/** Real exports on inductor. */
import { testAccounts } from "./zoo/accounts.ts";
import { useReports } from "./zoo/reports.ts";
import { testTwins } from "./zoo/twins.ts";

const reports = useReports("inductor");
testAccounts(reports);
testTwins(reports);
