# SPDX-License-Identifier: Apache-2.0
"""Hold the page's template. It stands in a code file, since a collection carries only code below plugins."""

from __future__ import annotations

TEMPLATE = """\
{% macro mark(word) %}<span class="mark {{ word }}">{{ word | replace("_", " ") }}</span>{% endmacro %}
{% macro heads() %}{% for name in varargs %}<th scope="col">{{ name }}</th>{% endfor %}{% endmacro %}
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Bring-up report {{ info.id }}</title>
<style>
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --page: #ffffff; --box: #f6f8fa; --line: #d0d7de;
  --good: #116329; --bad: #b3131d; --open: #7a4d00; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9da7b3; --page: #0d1117; --box: #161b22; --line: #3d444d;
    --good: #56d364; --bad: #ff8f88; --open: #e3b341; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 4rem; color: var(--text); background: var(--page);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .25rem 0 .75rem; } a { color: inherit; }
.soft { color: var(--soft); }
.notice { border: 1px solid var(--open); border-left-width: .4rem; padding: .5rem .75rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; min-width: 5rem; }
thead th { border-bottom: 2px solid var(--line); }
code, .evidence { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
.mark { display: inline-block; font-weight: 600; white-space: nowrap; }
.pass, .ok { color: var(--good); } .fail, .apply_failed, .unreachable { color: var(--bad); }
.refused, .unknown, .warn, .waived { color: var(--open); } .untouched, .skipped { color: var(--soft); }
article { border: 1px solid var(--line); border-radius: .4rem; padding: .25rem 1rem 1rem; margin: 1rem 0; }
article h2 { margin-top: .75rem; }
.check { background: var(--box); border-left: .3rem solid currentColor; padding: .5rem .75rem; margin: .6rem 0; }
.check > * { color: var(--text); } .check .mark { color: inherit; }
.check dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .75rem; margin: .4rem 0 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
details { margin: .75rem 0; } summary { cursor: pointer; }
</style>
</head>
<body>
<header>
<h1>Bring-up report</h1>
<p class="soft">Run <code>{{ info.id }}</code>{% if info.verb %}, {{ info.verb }}{% endif %},
ROCm {{ results.rocm_release or "not named" }}, written {{ results.generated }}</p>
</header>
<main>
{% if not results.complete %}
<p class="notice" role="note"><strong>This report is not complete.</strong>
{{ results.missing | length }} of {{ results.summary.nodes }} nodes have no verdict yet{% if results.missing %}:
{{ results.missing[:20] | join(", ") }}{% if results.missing | length > 20 %} and others{% endif %}{% endif %}.</p>
{% endif %}
{% if results.fleet is defined and results.fleet %}
<h2 id="fleet">Unlike the other nodes</h2>
<ul>
{% for one in results.fleet %}
<li>{{ one.sentence }}</li>
{% endfor %}
</ul>
{% endif %}
<h2 id="summary">Summary</h2>
<p>{{ results.summary.nodes }} nodes:
{% for verdict, number in results.summary.items() if verdict != "nodes" and number %}
<span class="mark {{ verdict }}">{{ number }} {{ verdict | replace("_", " ") }}</span>{{ "," if not loop.last }}
{% endfor %}</p>
<div class="scroll"><table>
<thead><tr>{{ heads("Node", "Verdict", "Why", "Checks") }}</tr></thead>
<tbody>
{% for node in nodes %}
<tr><th scope="row"><a href="#{{ node.anchor }}">{{ node.host }}</a></th>
<td>{{ mark(node.verdict) }}</td>
<td>{{ node.reason }}</td>
<td>
{% for outcome, number in node.counts.items() %}
{{ number }} {{ outcome }}{{ "," if not loop.last }}
{% else %}
none
{% endfor %}
</td></tr>
{% endfor %}
</tbody></table></div>
{% for node in nodes %}
<article id="{{ node.anchor }}" aria-labelledby="{{ node.anchor }}-title">
<h2 id="{{ node.anchor }}-title">{{ node.host }}: {{ mark(node.verdict) }}</h2>
{% if node.reason %}
<p>{{ node.reason }}</p>
{% endif %}
{% for check in node.loud %}
<section class="check {{ check.outcome }}">
<div>{{ mark(check.outcome) }} <code>{{ check.id }}</code> {{ check.subject }}
{% if not check.required %}<span class="soft">(not required)</span>{% endif %}</div>
<div>{{ check.reason }}</div>
<dl>
{% for name in ("expected", "observed", "evidence", "remedy") if check[name] %}
<dt>{{ name | capitalize }}</dt><dd class="{{ name }}">{{ check[name] }}</dd>
{% endfor %}
</dl>
</section>
{% endfor %}
{% if info.verb != "verify" %}
<h3>Plan</h3>
{% for step in node.plan %}
{% if step.role is not defined %}
<p>Refused: {{ step.subject }}: {{ step.seen }}; wanted {{ step.wanted }}; {{ step.remedy }}</p>
{% else %}
<details><summary><code>{{ step.role }}</code>: {{ step.changes | length }} change{{ "" if step.changes | length == 1 else "s" }}</summary>
{% if step.changes %}
<div class="scroll"><table>
<thead><tr>{{ heads("What", "Before", "After", "Why") }}</tr></thead>
<tbody>
{% for change in step.changes %}
<tr><th scope="row">{{ change.kind }} <code>{{ change.subject }}</code></th>
<td>{{ change.before }}</td><td>{{ change.after }}</td><td>{{ change.reason }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
</details>
{% endif %}
{% else %}
<p class="soft">{{ "Nothing to change." if node.counts else "No plan is kept of this node." }}</p>
{% endfor %}
{% endif %}
{% if node.svg %}
<details><summary>Topology, as RCCL sees it</summary>
<div class="scroll">{{ node.svg }}</div>
<div class="scroll"><pre>{{ node.topology }}</pre></div>
</details>
{% endif %}
{% if node.quiet %}
<details><summary>{{ node.quiet_number }} results that are well or do not apply</summary>
<div class="scroll"><table>
<thead><tr>{{ heads("Check", "Outcome", "Observed", "Read from") }}</tr></thead>
<tbody>
{% for check in node.quiet %}
<tr><th scope="row"><code>{{ check.id }}</code></th>
<td>{{ mark(check.outcome) }}{% if check.number > 1 %} &times; {{ check.number }}{% endif %}</td>
<td>{{ check.observed }} <span class="soft">{{ check.reason }}</span></td>
<td><code>{{ check.evidence }}</code></td></tr>
{% endfor %}
</tbody></table></div>
</details>
{% elif node.quiet_number %}
<p class="soft">{{ node.quiet_number }} results are well or do not apply; results.json lists them.</p>
{% endif %}
</article>
{% endfor %}
</main>
</body>
</html>
"""
