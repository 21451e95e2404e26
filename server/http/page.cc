#include "server/http/page.h"

namespace tandem::http {

const char kPage[] = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tandem</title>
<style>
:root {
  color-scheme: light dark;
  --ink: #1b1f24; --soft: #667080; --line: #dfe3e8; --paper: #fff; --accent: #2f6fde; --bad: #b42318;
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --soft: #939eae; --line: #2c333d; --paper: #14181d; --accent: #7aa7ff; --bad: #ff8a7a; }
}
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
       font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); }
th, .soft { color: var(--soft); font-weight: normal; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { vertical-align: middle; } polyline { fill: none; stroke: var(--accent); stroke-width: 1.5; }
.failed { color: var(--bad); }
#trouble { color: var(--bad); min-height: 1.5em; }
</style>
<h1>Tandem</h1>
<div id="trouble" role="status"></div>
<h2>Jobs</h2>
<table><thead><tr><th>Job<th>State<th class="number">Ranks<th class="number">Step<th class="number">Loss
<th>Last steps<th>Note</thead><tbody id="jobs"></tbody></table>
<h2>Workers</h2>
<table><thead><tr><th>Worker<th>Host<th>Slots</thead><tbody id="workers"></tbody></table>
<script>
"use strict";
const shownJobs = 50, shownSteps = 100, period = 2000;
const lines = new Map();  // Of jobs that have ended: their line does not change any more.

async function get(path) {
  const response = await fetch("api/v1/" + path);
  if (!response.ok) throw new Error((await response.json()).error);
  return response.json();
}
function cell(row, content, style) {
  const td = row.insertCell();
  td.append(content);
  if (style) td.className = style;
}
function emptyRow(table, text) { cell(table.insertRow(), text, "soft"); }
function stateOf(job) { return job.state.replace("JOB_STATE_", "").toLowerCase(); }
function hasEnded(job) { return ["succeeded", "failed", "cancelled"].includes(stateOf(job)); }
function noteOf(job) {
  if (job.cause && stateOf(job) === "failed") return job.cause.message;
  return stateOf(job) === "queued" ? job.waitingReason : "";
}
async function lossesOf(job) {
  if (lines.has(job.id)) return lines.get(job.id);
  const from = Math.max(0, Number(job.step) - shownSteps + 1);
  const page = await get(`jobs/${job.id}/history?from_step=${from}&page_size=${shownSteps}`);
  const losses = page.samples.map(s => Number(s.lossSum) / Number(s.count)).filter(Number.isFinite);
  if (hasEnded(job)) lines.set(job.id, losses);
  return losses;
}
function sparkline(values) {
  const width = 120, height = 24, ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  if (values.length < 2) return svg;
  const low = Math.min(...values), span = Math.max(...values) - low || 1;
  const line = document.createElementNS(ns, "polyline");
  line.setAttribute("points", values.map((v, i) =>
    `${i * width / (values.length - 1)},${1 + (height - 2) * (1 - (v - low) / span)}`).join(" "));
  svg.append(line);
  return svg;
}
async function fillJobs(jobs) {
  const shown = jobs.slice(0, shownJobs);
  const losses = await Promise.all(shown.map(lossesOf));
  const table = document.createElement("tbody");
  shown.forEach((job, i) => {
    const row = table.insertRow();
    cell(row, job.id);
    cell(row, stateOf(job), stateOf(job));
    cell(row, String(job.worldSize), "number");
    cell(row, job.step + (job.totalSteps === "0" ? "" : " / " + job.totalSteps), "number");
    cell(row, job.loss === undefined ? "" : Number(job.loss).toPrecision(5), "number");
    cell(row, sparkline(losses[i]));
    cell(row, noteOf(job), "soft");
  });
  if (jobs.length === 0) emptyRow(table, "No jobs yet.");
  if (jobs.length > shownJobs) emptyRow(table, `${jobs.length - shownJobs} older jobs are not shown.`);
  table.id = "jobs";
  document.getElementById("jobs").replaceWith(table);
}
function fillWorkers(workers) {
  const table = document.createElement("tbody");
  for (const worker of workers) {
    const row = table.insertRow();
    cell(row, worker.name);
    cell(row, worker.host);
    cell(row, worker.slots.map(s => s.name + (s.jobId ? ` (${s.jobId}, rank ${s.rank})` : "")).join(", "));
  }
  if (workers.length === 0) emptyRow(table, "No worker is connected.");
  table.id = "workers";
  document.getElementById("workers").replaceWith(table);
}
async function refresh() {
  const trouble = document.getElementById("trouble");
  try {
    const [jobs, workers] = await Promise.all([get("jobs"), get("workers")]);
    await fillJobs(jobs.jobs);
    fillWorkers(workers.workers);
    trouble.textContent = "";
  } catch (error) {
    trouble.textContent = "The coordinator does not answer: " + error.message;
  }
  setTimeout(refresh, period);
}
refresh();
</script>
</html>
)html";

}  // namespace tandem::http
