// Formulas are left by arithmatex as \( … \) and \[ … \] in elements of this class.
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const text = element.textContent.trim();
    katex.render(text.slice(2, -2), element, {
      displayMode: text.startsWith("\\["),
      throwOnError: false,
      macros: { "\\norm": "\\lVert #1 \\rVert", "\\abs": "\\lvert #1 \\rvert", "\\T": "^{\\mathsf T}" },
    });
  }
});
