/** @file Dark or light: what the system says, until the button says otherwise. */

export function addThemes(): void {
  const button = document.querySelector<HTMLButtonElement>("#theme");
  if (button === null) return;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const { dataset } = document.documentElement;
  const isDark = () => (dataset["theme"] ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => {
    dataset["theme"] = isDark() ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  show();
}
