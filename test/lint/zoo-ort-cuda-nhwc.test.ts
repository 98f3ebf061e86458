/** Real exports on ort-cuda-nhwc. */
import { testAccounts } from "./zoo/accounts.ts";
import { useReports } from "./zoo/reports.ts";
import { testTwins } from "./zoo/twins.ts";

const reports = useReports("ort-cuda-nhwc");
testAccounts(reports);
testTwins(reports);
