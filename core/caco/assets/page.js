"use strict";
(() => {
  const get = (id) => document.getElementById(id);
  let made = 0;

  function say(text, wrong = false) {
    get("message").textContent = text;
    get("message").classList.toggle("wrong", wrong);
  }

  function renumber() {
    const labels = get("list").querySelectorAll(".number");
    labels.forEach((node, place) => { node.textContent = `Document ${place + 1}`; });
    for (const button of get("list").querySelectorAll("button")) button.hidden = labels.length < 2;
  }

  function addDocument(focus) {
    made += 1;
    const box = document.createElement("div");
    const label = document.createElement("label");
    const number = document.createElement("span");
    const area = document.createElement("textarea");
    const remove = document.createElement("button");
    number.className = "number";
    number.id = `number-${made}`;
    label.append(number, area);
    remove.type = "button";
    remove.textContent = "Remove";
    remove.setAttribute("aria-describedby", number.id);
    remove.addEventListener("click", () => {
      box.remove();
      renumber();
      get("add").focus();
    });
    box.append(label, remove);
    get("list").append(box);
    renumber();
    if (focus) area.focus();
  }

  function problem(status, data) {
    if (status === 401) {
      get("token-label").hidden = false;
      get("token").focus();
      return "This service asks for a token.";
    }
    const detail = data && data.detail;
    if (Array.isArray(detail)) return detail.map((item) => `${item.field}: ${item.msg}`).join("; ");
    return detail || `The service answered with status ${status}.`;
  }

  async function check() {
    const headers = { "Content-Type": "application/json", Accept: "text/html" };
    const token = get("token").value.trim();
    if (token) headers.Authorization = `Bearer ${token}`;
    const texts = [...get("list").querySelectorAll("textarea")].map((area) => area.value);
    const body = {
      response: get("response").value,
      context: texts.map((text, place) => ({ id: String(place + 1), text })),
      language: get("language").value,
      threshold: Number(get("threshold").value),
    };
    const answer = await fetch("/validate", { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) {
      say(problem(answer.status, await answer.json().catch(() => null)), true);
      return;
    }
    // The service has escaped every text in it.
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    get("result").replaceChildren(...page.body.childNodes);
    say("Checked.");
    get("result").focus();
  }

  get("add").addEventListener("click", () => addDocument(true));
  get("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    get("check").disabled = true;
    get("result").replaceChildren();
    say("Checking …");
    try {
      await check();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      say("The service could not be reached.", true);
    } finally {
      get("check").disabled = false;
    }
  });
  addDocument(false);
})();
