// SPDX-License-Identifier: Apache-2.0
// The study of routing policies: is the default best or equal everywhere, and what do the papers' gains come to?
import type { Findings, Results, Size, Study } from "../study.ts";
import { routingFigures } from "./analysis.ts";
import { routingPanels } from "./panels.ts";
import { mostRoutingRuns, routingRuns } from "./runs.ts";
import { contestTable, detailTable, gainTable, peakTable } from "./tables.ts";
import { routingText } from "./text.ts";

export const routingStudy: Study = {
  name: "routing",
  title: "Routing policies",
  secondsPerRun: 5,
  mostRuns: mostRoutingRuns,
  runs: routingRuns,
  findings(size: Size, done: Results): Findings {
    const figures = routingFigures(size, done);
    return {
      markdown: routingText(size, figures),
      panels: routingPanels(figures),
      tables: [
        peakTable(figures),
        contestTable(figures),
        gainTable(figures),
        detailTable("Every arm at the knee", figures.details),
      ],
      figures,
    };
  },
};
