/** Real exports on tc-runtime. */
import { testAccounts } from "./zoo/accounts.ts";
import { testMeasured } from "./zoo/measured.ts";
import { useReports } from "./zoo/reports.ts";
import { testTwins } from "./zoo/twins.ts";

const reports = useReports("tc-runtime");
testAccounts(reports);
testMeasured(reports);
testTwins(reports);
