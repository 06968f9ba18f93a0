// All of the page but its charts: tables that sort and fold, copied commands, the reader's own time, and a run that goes on.
const drawings = data.charts.map(setUp);
const drawAll = () => drawings.forEach((draw) => draw());
drawAll();
window.addEventListener("resize", drawAll);
window.addEventListener("beforeprint", drawAll);

for (const time of document.querySelectorAll("time")) {
  const moment = new Date(time.dateTime);
  if (isNaN(moment)) continue;
  time.title = time.textContent;
  time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

for (const command of document.querySelectorAll(".command")) {
  const button = made(command, "button", { type: "button", class: "screen" }, "Copy");
  button.addEventListener("click", async () => {
    const text = command.querySelector("code");
    getSelection().selectAllChildren(text);
    try { await navigator.clipboard.writeText(text.textContent); } catch { document.execCommand("copy"); }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

// Edges fade where a wide table goes on.
const fading = new ResizeObserver((entries) => entries.forEach(({ target }) => target.fade()));
for (const box of document.querySelectorAll(".wide")) {
  box.fade = () => {
    box.classList.toggle("before", box.scrollLeft > 1);
    box.classList.toggle("after", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  };
  box.addEventListener("scroll", box.fade);
  fading.observe(box);
}

// What a cell is sorted by; nothing for one without a value.
const sortValue = (cell) => {
  const text = cell.dataset.value ?? cell.textContent.trim();
  if (text === "" || text === "–") return null;
  const number = Number(text.replace(/%$/, ""));
  return Number.isNaN(number) ? text : number;
};
const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const most = Number(table.dataset.most) || Infinity;
  let isFolded = body.rows.length > most + 2;
  const fold = () => [...body.rows].forEach((row, place) => { row.hidden = isFolded && place >= most; });
  if (isFolded) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "fold screen" });
    const tell = () => { button.textContent = isFolded ? `Show all ${body.rows.length} ${table.dataset.what}` : `Show the first ${most} only`; };
    button.addEventListener("click", () => { isFolded = !isFolded; fold(); tell(); });
    table.parentElement.after(button);
    tell();
    fold();
  }
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const rows = [...body.rows].map((row) => [sortValue(row.cells[column]), row]);
      const isNumber = rows.some(([value]) => typeof value === "number");
      const was = head.getAttribute("aria-sort");
      const isUp = was ? was === "descending" : !isNumber;
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      // Whichever way it goes, what has no value comes last.
      rows.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : compare(a, b) * (isUp ? 1 : -1)));
      body.append(...rows.map(([, row]) => row));
      fold();
    });
  });
}

// A page that is still being written is looked at again, unless somebody is reading off it; one that no longer is, says so.
if (data.again_after) {
  const age = document.getElementById("age"), silent = document.getElementById("silent");
  const tell = () => {
    const seconds = Math.max(0, Math.round(Date.now() / 1000 - data.written));
    age.textContent = seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
    silent.hidden = seconds < data.silent_after;
  };
  tell();
  setInterval(tell, 1000);
  const isRead = () => document.querySelector(".tip:not([hidden]), .band") || !getSelection().isCollapsed;
  setInterval(() => { if (!document.hidden && !isRead()) location.reload(); }, data.again_after * 1000);
}
