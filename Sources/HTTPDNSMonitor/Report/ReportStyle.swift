// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The style of a report: light and dark, from 320 pixels of width.
enum ReportStyle {
    static let sheet: HTML = """
        :root {
          --page: #f4f6f8; --card: #ffffff; --text: #1c2229; --quiet: #5a6572; --line: #dde3e9; --track: #eef1f4;
          --bad: #b3261e; --bad-back: #fbe9e7; --warn: #8a5300; --warn-back: #fdf1dc; --ok: #1b6e3c; --ok-back: #e2f3e8;
          --blocked: #b4bec9; --resolve: #14989a; --race: #c46a3b; --connect: #e0a020; --tls: #8d5bd6; --wait: #3f9e52;
          --receive: #2f7de1; --accent: #2f7de1; --accent-2: #7db0f0; --accent-3: #c8def9;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #101418; --card: #191f26; --text: #e4e9ee; --quiet: #9aa7b4; --line: #2c353f; --track: #222a33;
            --bad: #ff8a80; --bad-back: #43211f; --warn: #ffc46b; --warn-back: #3d2f17; --ok: #7fd6a0; --ok-back: #1b3627;
            --blocked: #5b6773; --resolve: #2fb7b5; --race: #dd8a5c; --connect: #ecb646; --tls: #ab83ea; --wait: #5fbe70;
            --receive: #5b9ff0; --accent: #5b9ff0; --accent-2: #38659b; --accent-3: #263d59;
          }
        }
        * { box-sizing: border-box; }
        html { background: var(--page); color: var(--text); -webkit-text-size-adjust: 100%; }
        body { margin: 0 auto; max-width: 1400px; padding: 24px 24px 40px; font: 14px/1.5 system-ui, "Segoe UI", Roboto,
          "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
        h1 { font-size: 24px; line-height: 1.2; margin: 0; }
        h2 { font-size: 15px; margin: 0 0 8px; }
        h3 { font-size: 13px; margin: 0 0 6px; }
        p { margin: 0 0 8px; }
        header { margin-bottom: 16px; }
        footer { margin-top: 24px; font-size: 12px; }
        .quiet { color: var(--quiet); font-weight: normal; }
        .bad { color: var(--bad); }
        .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin-bottom: 12px; }
        .tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
        .tile h2 { font-size: 12px; font-weight: 600; color: var(--quiet); margin: 0; }
        .tile .value { font-size: 24px; font-weight: 650; line-height: 1.3; margin: 0; }
        .tile .quiet { font-size: 12px; margin: 0; }
        .grid { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 12px; margin-bottom: 12px; }
        .card { min-width: 0; }
        .wide { grid-column: 1 / -1; }
        .split { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 7fr); gap: 28px; }
        .split table + h3, .split .scroll + h3 { margin-top: 14px; }
        .scroll { overflow-x: auto; }
        table { width: 100%; border-collapse: collapse; font-size: 13px; }
        th, td { padding: 4px 10px 4px 0; text-align: right; vertical-align: top; white-space: nowrap; }
        th:first-child { text-align: left; font-weight: 500; white-space: normal; overflow-wrap: anywhere; }
        thead th { color: var(--quiet); font-weight: 500; font-size: 12px; border-bottom: 1px solid var(--line); }
        tbody tr + tr > * { border-top: 1px solid var(--track); }
        .errors th:first-child { width: 34%; }
        th.text, td.text { text-align: left; white-space: normal; overflow-wrap: anywhere; }
        th:last-child, td:last-child { padding-right: 0; }
        .picture { width: 24%; min-width: 90px; text-align: left; vertical-align: middle; }
        thead .picture { white-space: nowrap; }
        .spread { display: block; overflow: visible; }
        .track { fill: var(--track); } .range { fill: var(--accent-3); } .range9 { fill: var(--accent-2); }
        .range5 { fill: var(--accent); }
        .updown { padding: 3px 0; }
        .updown i { display: block; height: 5px; border-radius: 3px; min-width: 2px; margin-bottom: 2px; }
        i.up { background: var(--tls); } i.down { background: var(--receive); }
        .columns { display: flex; align-items: flex-end; gap: 4px; height: 150px; border-bottom: 1px solid var(--line); }
        .column { flex: 1; height: 100%; display: flex; flex-direction: column; justify-content: flex-end; min-width: 0;
          text-align: center; font-size: 11px; }
        .column i { display: block; background: var(--accent); border-radius: 4px 4px 0 0; min-height: 1px; }
        .labels { display: flex; gap: 4px; font-size: 11px; }
        .labels span { flex: 1; min-width: 0; text-align: center; overflow: hidden; white-space: nowrap; }
        .many span { overflow: visible; } .many span:nth-child(even) { visibility: hidden; }
        .percentiles { display: flex; flex-wrap: wrap; gap: 6px 28px; margin: 14px 0 0; }
        .percentiles dt { font-size: 12px; color: var(--quiet); }
        .percentiles dd { margin: 0; font-size: 17px; font-weight: 650; }
        .key { display: inline-flex; align-items: center; gap: 5px; margin-right: 10px; font-size: 12px; color: var(--quiet); }
        .key::before { content: ""; width: 10px; height: 10px; border-radius: 3px; background: var(--color); }
        .key.up { --color: var(--tls); } .key.down { --color: var(--receive); }
        .p-blocked { --color: var(--blocked); } .p-resolve { --color: var(--resolve); } .p-race { --color: var(--race); }
        .p-connect { --color: var(--connect); } .p-tls { --color: var(--tls); } .p-wait { --color: var(--wait); }
        .p-receive { --color: var(--receive); }
        .group { margin-top: 14px; }
        .axis { display: grid; grid-template-columns: minmax(0, 1fr) 50%; gap: 12px; font-size: 11px;
          border-bottom: 1px solid var(--line); padding: 0 8px 3px; }
        .ticks { display: flex; justify-content: space-between; }
        .call { border-bottom: 1px solid var(--track); }
        .call > summary { display: grid; grid-template-columns: 58px minmax(0, 1fr) 62px 58px 50%; gap: 0 12px;
          align-items: center; padding: 4px 8px; cursor: pointer; list-style: none; border-radius: 6px; }
        .call > summary::-webkit-details-marker { display: none; }
        .call > summary:hover, .call[open] > summary { background: var(--track); }
        .call > summary:focus-visible, .more > summary:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
        .result { font-size: 12px; font-weight: 650; text-align: center; border-radius: 5px; padding: 1px 4px; }
        .r-ok { color: var(--ok); background: var(--ok-back); } .r-moved { color: var(--quiet); background: var(--track); }
        .r-client { color: var(--warn); background: var(--warn-back); }
        .r-failed { color: var(--bad); background: var(--bad-back); }
        .what { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        .what b { font-weight: 600; font-size: 12px; }
        .size, .time { text-align: right; white-space: nowrap; font-size: 13px; } .size { color: var(--quiet); }
        .bar { position: relative; display: block; height: 14px;
          background: repeating-linear-gradient(to right, var(--line) 0 1px, transparent 1px 25%); }
        .bar i { position: absolute; top: 1px; height: 12px; min-width: 2px; background: var(--color); }
        .bar i.frame { top: 6px; height: 2px; background: var(--blocked); opacity: .5; }
        .details { margin: 4px 0 12px 8px; padding: 10px 14px; border-left: 3px solid var(--line); }
        .failure { color: var(--bad); overflow-wrap: anywhere; }
        .hop { border-top: 1px solid var(--line); padding-top: 10px; margin-top: 10px; }
        .hop h3, .details > p { overflow-wrap: anywhere; }
        .phases { display: grid; grid-template-columns: max-content minmax(0, 1fr) max-content; gap: 2px 12px;
          align-items: center; font-size: 12px; margin-bottom: 8px; }
        .phases .name { color: var(--quiet); } .phases .time { font-size: 12px; }
        .story { margin: 0 0 8px; padding-left: 22px; overflow-wrap: anywhere; }
        .more { margin: 4px 0; } .more > summary { cursor: pointer; font-weight: 500; overflow-wrap: anywhere; }
        .fields { margin: 4px 0 8px; font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
        .fields th { width: 24%; color: var(--quiet); } .fields td { padding-left: 8px; }
        pre { margin: 4px 0 8px; padding: 10px 12px; max-height: 420px; overflow: auto; background: var(--track);
          border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere;
          font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
        @media (max-width: 900px) {
          .grid, .split { grid-template-columns: minmax(0, 1fr); }
        }
        @media (max-width: 640px) {
          body { padding: 14px 12px 28px; }
          .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; }
          .tile, .card { padding: 10px 12px; }
          .call > summary { grid-template-columns: 52px minmax(0, 1fr) max-content; gap: 3px 8px; padding: 6px 2px; }
          .what { grid-column: 2; white-space: normal; word-break: break-all; display: -webkit-box;
            -webkit-box-orient: vertical; -webkit-line-clamp: 2; } .size { display: none; } .bar { grid-column: 1 / -1; }
          .axis { grid-template-columns: minmax(0, 1fr); padding: 0 2px 3px; }
          .phases .bar { grid-column: auto; }
          .details { margin-left: 0; padding: 8px 0 8px 10px; }
          .columns { height: 110px; }
          .tile:last-child:nth-child(odd) { grid-column: 1 / -1; }
          .labels span { font-size: 10px; overflow: visible; } .labels span:nth-child(even) { visibility: hidden; }
          .percentiles { justify-content: space-between; gap: 6px 12px; }
          .card > .scroll > table, .split table { display: block; } tbody, thead { display: block; }
          .scroll tr { display: grid; grid-template-columns: repeat(5, minmax(0, 1fr)); }
          .scroll th, .scroll td { padding: 2px 0; font-size: 12px; } .scroll .picture { display: none; }
          .scroll tbody tr { padding: 4px 0; } .scroll tbody tr + tr > * { border-top: 0; }
          .scroll tbody tr + tr { border-top: 1px solid var(--track); }
          .scroll th:first-child { grid-column: 1 / -1; } .scroll thead th:first-child { display: none; }
          .errors th:first-child { width: auto; }
          .errors tr { grid-template-columns: 44px minmax(0, 1fr); gap: 0 12px; }
          .errors td:last-child, .errors thead { display: none; }
          .fields, .fields tbody, .fields tr, .fields th, .fields td { display: block; width: auto; padding: 0; }
          .fields td { padding: 0 0 4px 12px; } .fields tbody tr + tr > * { border-top: 0; }
        }
        @media print { .call { break-inside: avoid; } html { background: none; } }
        """
}
