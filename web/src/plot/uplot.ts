// uPlot as npm has it. Whoever draws imports it from here, so that it is loaded in this order.
import { intl, setIntl } from "./lateintl";
import uPlot from "uplot";

setIntl(intl);

export default uPlot;
