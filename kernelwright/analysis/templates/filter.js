const buttons = [...document.querySelectorAll("[data-kind]")];
const rows = [...document.querySelectorAll("tbody tr[data-group]")];
const words = document.getElementById("words");
const count = document.getElementById("count");
let kind = "";
function show() {
  const wanted = words.value.toLowerCase();
  let seen = 0;
  for (const row of rows) {
    row.hidden = (kind && row.dataset.group !== kind) || !row.textContent.toLowerCase().includes(wanted);
    seen += !row.hidden;
  }
  count.textContent = seen + " of " + rows.length + " shown";
}
for (const button of buttons) {
  button.addEventListener("click", () => {
    kind = button.dataset.kind;
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    show();
  });
}
words.addEventListener("input", show);
document.querySelector(".filters").hidden = false;
show();
