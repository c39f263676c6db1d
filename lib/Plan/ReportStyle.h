// How the page of a plan looks.
#pragma once

#include <string_view>

namespace spillway::plan {

inline constexpr std::string_view reportStyle = R"css(
body { font: 14px/1.45 system-ui, sans-serif; color: #222; max-width: 1280px; margin: 2em auto; padding: 0 1.5em; }
h1 { font-size: 22px; margin-bottom: .2em; } h2 { font-size: 17px; margin: 1.8em 0 .4em; }
p { max-width: 62em; margin: .4em 0; }
.cards { display: flex; flex-wrap: wrap; gap: 10px; margin: 1em 0; }
.card { border: 1px solid #ddd; border-radius: 6px; padding: 8px 14px; min-width: 120px; }
.card b { display: block; font-size: 18px; } .card span { color: #666; font-size: 12px; }
.note { background: #fff6e0; border-left: 3px solid #e0a030; padding: 4px 10px; }
.row { display: flex; align-items: stretch; }
.label { flex: 0 0 120px; font-size: 12px; color: #444; display: flex; flex-direction: column; justify-content: space-between; padding-right: 8px; text-align: right; }
.plots { flex: 1; overflow-x: auto; } .plot { position: relative; width: calc(100% * var(--zoom, 1)); }
svg { display: block; width: 100%; background: #f6f6f6; }
.axis { height: 18px; position: relative; font-size: 11px; color: #666; }
.axis span { position: absolute; border-left: 1px solid #bbb; padding-left: 3px; white-space: nowrap; }
rect:hover { opacity: .55; }
.s0, .computed { fill: #4878a8; } .s1, .staged { fill: #dd8a32; } .s2 { fill: #a04848; } .s3 { fill: #5a9e5a; } .s4 { fill: #8868a8; } .s5 { fill: #777; }
.resident { fill: #bdbdbd; } .input { fill: #8fc1e3; } .scratch { fill: #b9b2dc; }
.key { display: inline-block; width: 11px; height: 11px; margin: 0 4px 0 14px; vertical-align: -1px; }
.key.computed { background: #4878a8; } .key.staged { background: #dd8a32; } .key.resident { background: #bdbdbd; } .key.input { background: #8fc1e3; } .key.scratch { background: #b9b2dc; }
table { border-collapse: collapse; margin: .5em 0; } td, th { padding: 2px 14px 2px 0; text-align: left; vertical-align: top; border-bottom: 1px solid #eee; }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
)css";

} // namespace spillway::plan
