#pragma once

// The style sheet of the page, light or dark as the reader's system is. Curves have colours that
// people who do not see all colours can tell apart (Okabe and Ito).
namespace tandem::verify {

inline constexpr const char* kPageStyle = R"(
:root { color-scheme: light dark; --back: #ffffff; --text: #1c2024; --faint: #667078; --line: #d8dde2;
  --good: #1a7f37; --bad: #c62828; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --text: #e6e9ec; --faint: #98a2ab;
  --line: #333a40; --good: #4cc267; --bad: #ff6b62; } }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin-bottom: 0.2rem; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
.facts, figcaption, .legend { color: var(--faint); font-size: 0.9rem; }
.verdict { border-left: 0.4rem solid; padding: 0.6rem 1rem; font-size: 1.1rem; }
.verdict.good { border-color: var(--good); } .verdict.bad { border-color: var(--bad); }
.good strong, td.good { color: var(--good); } .bad strong, td.bad { color: var(--bad); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.25rem 0.8rem 0.25rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
code { font-family: ui-monospace, monospace; }
.scroll { overflow-x: auto; }
figure { margin: 0.5rem 0 1.5rem; }
svg { width: 100%; height: auto; font: 13px system-ui, sans-serif; }
svg text { fill: var(--faint); }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--faint); }
svg path { fill: none; stroke-linejoin: round; }
.legend span { display: inline-block; margin-right: 1.2rem; }
.legend i { display: inline-block; width: 1.4em; height: 0.35em; margin-right: 0.4em; vertical-align: middle; }
.c0 path { stroke: #0072b2; } .c0 circle, i.c0 { fill: #0072b2; background: #0072b2; }
.c1 path { stroke: #e69f00; } .c1 circle, i.c1 { fill: #e69f00; background: #e69f00; }
.c2 path { stroke: #009e73; } .c2 circle, i.c2 { fill: #009e73; background: #009e73; }
.c3 path { stroke: #cc79a7; } .c3 circle, i.c3 { fill: #cc79a7; background: #cc79a7; }
.c4 path { stroke: #56b4e9; } .c4 circle, i.c4 { fill: #56b4e9; background: #56b4e9; }
.c5 path { stroke: #d55e00; } .c5 circle, i.c5 { fill: #d55e00; background: #d55e00; }
.c6 path { stroke: #b8a800; } .c6 circle, i.c6 { fill: #b8a800; background: #b8a800; }
.c7 path { stroke: #7f7f7f; } .c7 circle, i.c7 { fill: #7f7f7f; background: #7f7f7f; }
)";
inline constexpr unsigned kCurveColors = 8;

}  // namespace tandem::verify
