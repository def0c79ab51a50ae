"use strict";
// The page works from its hash: `#scenario/subject?q=words&show=fail` is a cell that is open and a filter.
(() => {
  const one = (selector, of = document) => of.querySelector(selector);
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];

  // Light or dark: the reader's word, else the system's. Done before anything is painted.
  const root = document.documentElement;
  const kept = {
    get: () => { try { return localStorage.getItem("leaseproof-theme"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("leaseproof-theme", value); } catch { /* it lasts as long as the page */ } },
  };
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  if (["dark", "light"].includes(kept.get())) root.dataset.theme = kept.get();

  const inflated = (pack) => {
    const bytes = Uint8Array.from(atob(pack.textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
  };

  document.addEventListener("DOMContentLoaded", () => {
    const matrix = one("#matrix"), dialog = one("#evidence"), keys = one("#keys"), told = one("#told"), words = one("#words");
    const isGrid = matrix.classList.contains("grid");
    const title = document.title;

    // What is open, and what is asked for, by the hash.
    const here = () => {
      const [cell, query] = location.hash.slice(1).split("?", 2);
      return { cell, query };
    };
    const packs = new Map(all("script[data-cell]").map((pack) => [pack.dataset.cell, pack]));
    const packOf = (cell) => [cell, cell.split("/")[0]].find((key) => packs.has(key)) ?? "";
    const hash = (cell, query = asked()) => (cell || query ? `#${cell}${query ? `?${query}` : ""}` : location.pathname + location.search);

    // The filter.
    const filter = { words: "", kinds: new Set(), profile: "" };
    const profiles = all("thead tr:last-child th[data-profile]", matrix).map((head) => head.dataset.profile);
    const rows = all("tbody", matrix).map((body) => ({
      body,
      text: body.dataset.text.toLowerCase(),
      cells: all("a.cell", body).map((link) => ({
        link,
        column: Number(link.dataset.x) - 1,
        kind: link.classList[1],
        text: `${link.getAttribute("aria-label")} ${body.dataset.text}`.toLowerCase(),
      })),
    }));
    const asked = () => {
      const query = new URLSearchParams();
      if (filter.words) query.set("q", filter.words);
      if (filter.kinds.size) query.set("show", [...filter.kinds].join(","));
      if (filter.profile) query.set("profile", filter.profile);
      return query.toString();
    };
    const ask = (query) => {
      const given = new URLSearchParams(query);
      filter.words = given.get("q") ?? "";
      filter.kinds = new Set((given.get("show") ?? "").split(",").filter(Boolean));
      filter.profile = given.get("profile") ?? "";
      words.value = filter.words;
      apply();
    };
    const apply = () => {
      const wanted = filter.words.toLowerCase().split(/\s+/).filter(Boolean);
      const narrowed = Boolean(wanted.length || filter.kinds.size || filter.profile);
      const columns = new Set();
      let shown = 0;
      for (const row of rows) {
        let any = !narrowed || (!row.cells.length && !filter.kinds.size && wanted.every((word) => row.text.includes(word)));
        for (const { link, column, kind, text } of row.cells) {
          const fits = (!filter.kinds.size || filter.kinds.has(kind))
            && (!filter.profile || !isGrid || profiles[column] === filter.profile)
            && wanted.every((word) => text.includes(word));
          link.classList.toggle("off", !fits);
          if (fits) { any = true; columns.add(column); }
        }
        row.body.hidden = !any;
        shown += any;
      }
      if (isGrid) showColumns(narrowed ? columns : null);
      for (const chip of all("[data-kind]")) chip.setAttribute("aria-pressed", filter.kinds.has(chip.dataset.kind));
      for (const chip of all("button[data-profile]")) chip.setAttribute("aria-pressed", filter.profile === chip.dataset.profile);
      const beside = isGrid && narrowed ? `, ${columns.size} of ${profiles.length} columns` : "";
      one("#count").textContent = `${shown} of ${rows.length} scenarios${beside}`;
      one("#nothing").hidden = shown > 0;
      one("#frame").hidden = !shown;
    };
    const showColumns = (columns) => {
      const isHidden = (column) => columns !== null && !columns.has(column);
      const [heads, letters] = all("thead tr", matrix);
      all("th", letters).forEach((head, column) => { head.hidden = isHidden(column); });
      let column = 0;
      for (const head of all("th.subject", heads)) {
        const mine = Array.from({ length: Number(head.dataset.span) }, () => column++).filter((each) => !isHidden(each));
        head.hidden = !mine.length;
        head.colSpan = Math.max(mine.length, 1);
      }
      for (const { body } of rows) {
        const cells = body.rows[0].cells;
        for (let i = 1; i < cells.length; i++) cells[i].hidden = isHidden(i - 1);
      }
    };
    let later = 0;
    const changed = () => {
      apply();
      clearTimeout(later);
      later = setTimeout(() => history.replaceState(null, "", hash(here().cell)), 150);
    };
    words.addEventListener("input", () => { filter.words = words.value.trim(); changed(); });
    one("form.filter").addEventListener("submit", (event) => event.preventDefault());

    // The evidence.
    let open = "", latest = 0;
    const follow = async () => {
      const { cell, query } = here();
      if (query !== undefined && query !== asked()) ask(query);
      const key = packOf(cell), mine = ++latest;
      if (!key) {
        if (dialog.open) dialog.close();
        return;
      }
      if (key !== open) {
        const text = await inflated(packs.get(key)).text();
        if (mine !== latest) return;
        told.innerHTML = text;
        one("#title").replaceChildren(...one("h2", told).childNodes);
        one("h2", told).remove();
        open = key;
        dialog.scrollTop = 0;
      }
      const views = all(".view", told);
      const view = views.find((each) => each.dataset.keys.split(" ").includes(cell)) ?? views[0];
      const arms = view ? view.dataset.arms.split(" ") : [];
      for (const each of views) each.hidden = each !== view;
      for (const arm of all(".arm", told)) arm.hidden = !arms.includes(arm.dataset.arm);
      for (const link of all(".chooser a", told)) {
        const at = link.getAttribute("href").slice(1).split("?")[0];
        link.setAttribute("aria-current", arms.some((arm) => at === `${key}/${arm}`));
      }
      document.title = `${one("#title").textContent.trim().replace(/\s+/g, " ")}: leaseproof`;
      if (!dialog.open) dialog.showModal();
    };
    dialog.addEventListener("close", () => {
      document.title = title;
      const { cell } = here();
      if (!packOf(cell)) return;
      history.pushState(null, "", hash(""));
      all("a[data-x]", matrix).find((link) => link.hash === `#${cell}`)?.focus();
    });
    const step = (by) => {
      const stops = all(isGrid ? "a.cell:not(.off)" : "a.name", matrix).filter((link) => link.checkVisibility());
      const at = stops.findIndex((link) => link.hash.slice(1) === open);
      const next = stops[at + by];
      if (next) location.hash = hash(next.hash.slice(1));
    };
    const save = async (button) => {
      const blob = await inflated(one(`script[data-history="${button.dataset.save}"]`)).blob();
      const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: button.dataset.name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    };
    const copy = async (button) => {
      const code = one("code", button.parentElement);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code); // then the reader's own keys copy it
      }
    };

    // The matrix by keys: one cell of a table is in the order of tabs, and arrows go from there.
    const isSeen = (link) => !link.classList.contains("off") && link.checkVisibility();
    const move = (from, across, down) => {
      const x = Number(from.dataset.x);
      if (down) {
        const lines = all("tr", from.closest("table"));
        for (let i = lines.indexOf(from.closest("tr")) + down; lines[i]; i += down) {
          const there = all("a[data-x]", lines[i]).find((link) => Number(link.dataset.x) === x && isSeen(link));
          if (there) return there;
        }
        return null;
      }
      const nearest = (within) => all("a[data-x]", within)
        .filter((link) => Math.sign(link.dataset.x - x) === Math.sign(across) && isSeen(link))
        .sort((a, b) => (a.dataset.x - b.dataset.x) * across).at(0);
      return nearest(from.closest("tr")) ?? nearest(from.closest("tbody"));
    };
    const MOVES = {
      ArrowLeft: (from) => move(from, -1, 0), ArrowRight: (from) => move(from, 1, 0),
      ArrowUp: (from) => move(from, 0, -1), ArrowDown: (from) => move(from, 0, 1),
      Home: (from) => all("a[data-x]", from.closest("tr")).find(isSeen),
      End: (from) => all("a[data-x]", from.closest("tr")).findLast(isSeen),
    };
    for (const table of all("table:has(a[data-x])")) {
      let stop = one("a[data-x]", table);
      for (const link of all("a[data-x]", table)) link.tabIndex = link === stop ? 0 : -1;
      table.addEventListener("focusin", ({ target }) => {
        if (!target.matches("a[data-x]")) return;
        stop.tabIndex = -1;
        stop = target;
        stop.tabIndex = 0;
      });
    }
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
      const { key, target } = event;
      if (target === words) {
        if (key === "Escape") { filter.words = words.value = ""; changed(); words.blur(); }
        return;
      }
      if (key === "?") keys.showModal();
      else if (dialog.open && (key === "n" || key === "p")) step(key === "n" ? 1 : -1);
      else if (dialog.open) return;
      else if (key === "/") words.select();
      else if (MOVES[key] && target.matches("a[data-x]")) (MOVES[key](target) ?? target).focus();
      else return;
      event.preventDefault();
    });
    document.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (!button) return;
      const { kind, profile, save: history, copy: command, close, step: by } = button.dataset;
      if (kind) { if (!filter.kinds.delete(kind)) filter.kinds.add(kind); changed(); }
      else if (profile !== undefined) { filter.profile = profile; changed(); }
      else if (history) save(button);
      else if (command !== undefined) copy(button);
      else if (close !== undefined) button.closest("dialog").close();
      else if (by) step(Number(by));
      else if (button.id === "clear") { ask(""); changed(); words.focus(); }
      else if (button.id === "help") keys.showModal();
      else if (button.id === "theme") { root.dataset.theme = isDark() ? "light" : "dark"; kept.set(root.dataset.theme); tellTheme(); }
    });
    // What is pointed at: its label as a tip, and its column by its head.
    const point = ({ target }) => {
      const link = target.closest?.("a.cell");
      if (!link) return;
      link.title = link.getAttribute("aria-label");
      if (!isGrid || !matrix.contains(link)) return;
      all("thead .here", matrix).forEach((head) => head.classList.remove("here"));
      all("thead tr:last-child th", matrix)[link.dataset.x - 1].classList.add("here");
    };
    document.addEventListener("mouseover", point);
    document.addEventListener("focusin", point);
    const tellTheme = () => one("#theme").setAttribute("aria-pressed", isDark());

    tellTheme();
    apply();
    addEventListener("hashchange", follow);
    follow();
  });
})();
