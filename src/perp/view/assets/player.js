// The page: time, controls, keys, theme and the loop that draws when something has changed.
const element = (id) => document.getElementById(id);
const ENERGY = [["total", "#2f6fd0"], ["kinetic", "#e0892b"], ["potential", "#8a62c9"]];
const THEMES = {
  light: { brightness: 1.0, ground: [0.93, 0.945, 0.965, 0.55], line: [0.45, 0.51, 0.6, 0.55] },
  dark: { brightness: 0.86, ground: [0.13, 0.16, 0.21, 0.6], line: [0.52, 0.6, 0.72, 0.42] },
};

class Player {
  constructor(data) {
    this.data = data;
    this.frames = HEADER.live ? new LiveFrames() : new Frames(data);
    this.renderer = new Renderer(element("view"));
    this.time = this.frames.begin;
    this.playing = false;
    this.camera = new Camera(element("view"), () => this.change());
    this.buildScene();
    this.buildPlots();
    this.buildPage();
    this.bind();
    if (HEADER.live) this.goLive();
    this.fromAddress();
    requestAnimationFrame((now) => this.tick(now));
  }

  goLive() {
    this.live = new Live(this);
    this.camera.hand = new Pushing(this);
    for (const each of document.querySelectorAll(".live")) Object.assign(each, { hidden: false, disabled: false });
    element("loop").hidden = true;
    element("restart").addEventListener("click", () => this.live.send({ kind: "reset" }));
    element("hand").addEventListener("click", () => element("hand").setAttribute("aria-pressed", element("hand").getAttribute("aria-pressed") !== "true"));
    element("speed").addEventListener("input", () => this.live.send({ kind: "speed", speed: Number(element("speed").value) }));
  }

  // Whether the run still takes steps, so that buttons speak to it and not to what it has left behind.
  get running() { return Boolean(this.live && !this.live.state.finished); }

  // The server has answered: newer frames, or the same run from its start again.
  arrived(state, again) {
    const { frames } = this;
    if (again) [this.time, this.newest] = [frames.begin, 0];
    const figures = state.figures || { residual: 0, coulomb: 0, penetration: 0, unmet: 0, steps: 0 };
    this.writeFigures({ ...figures, relaxed: HEADER.relaxed });
    element("subtitle").textContent = this.subtitle(figures.steps, frames.begin, frames.end, HEADER.step)
      + (state.finished ? " · ended" : state.playing ? "" : " · paused") + (state.problem ? ` · ${state.problem}` : "");
    element("restart").hidden = !state.resettable || (state.finished && !state.again);
    element("hand").hidden = state.finished;
    Object.assign(element("scrub"), { min: frames.begin, max: frames.end });
    const [kinetic, potential] = [frames.curve("kinetic"), frames.curve("potential")];
    const values = [[kinetic.map((value, i) => value + potential[i]), kinetic, potential],
      [frames.curve("residual"), ...(HEADER.relaxed ? [frames.curve("coulomb")] : [])], [2, 1, 0].map((k) => frames.curve(`${HEADER.states[k]}_count`))];
    this.plots.forEach((plot, k) => plot.update(frames.times, values[k]));
    this.energy.forEach((curve, k) => { curve.values = values[0][k]; });
    this.plotTimes = frames.times;
    if (!state.finished && state.playing !== this.playing) {
      this.playing = state.playing;
      element("play").setAttribute("aria-pressed", state.playing);
    }
    if (Boolean(state.finished) !== Boolean(this.ended)) {
      element("loop").hidden = !state.finished;
      for (const option of element("speed").querySelectorAll(".live")) Object.assign(option, { hidden: state.finished, disabled: state.finished });
    }
    if (!state.finished) this.ended = false;
    if (state.finished && !this.ended) {
      this.ended = true;
      if (element("speed").value === "0") element("speed").value = "1";
      this.setPlaying(false);
      this.time = frames.end;
    }
    if (!state.playing && frames.end > (this.newest || 0)) this.time = frames.end;
    this.newest = frames.end;
    this.change();
  }

  change() { this.dirty = true; }

  buildScene() {
    const { data, renderer } = this;
    this.groups = [];
    this.scene = { solids: [], glass: [], grounds: [] };
    HEADER.groups.forEach(({ kind, count }, i) => {
      const [body, local] = [data[`body${i}`], data[`local${i}`]];
      const all = [...Array(count).keys()];
      const clear = (member) => local[14 * member + 13] < 0.999;
      const parts = kind === "plane" ? [["grounds", all]] : [["solids", all.filter((m) => !clear(m))], ["glass", all.filter(clear)]];
      for (const [list, members] of parts) {
        if (!members.length) continue;
        const mesh = renderer.mesh(data[`mesh${i}`], data[`index${i}`], members.length, data[`tint${i}`]);
        this.groups.push({ mesh, body, local, members, kind, corners: data[`mesh${i}`], index: data[`index${i}`] });
        this.scene[list].push(mesh);
      }
    });
    const mark = (name) => renderer.mesh(data[`${name}_mesh`], data[`${name}_index`], 64);
    this.marks = { arrow: mark("arrow"), dot: mark("dot"), cone: mark("cone") };
    this.scene.marks = [this.marks.arrow, this.marks.dot];
    this.scene.veils = [this.marks.cone];
  }

  buildPlots() {
    const { data } = this;
    const none = new Float32Array(0);
    const curve = (name) => data[name] || none;
    const times = data.plot_time || none;
    const seek = (time) => this.seek(time);
    const total = curve("kinetic").map((value, i) => value + data.potential[i]);
    const energy = [total, curve("kinetic"), curve("potential")].map((values, i) => ({ values, color: ENERGY[i][1], width: i ? 1.4 : 2 }));
    this.energy = energy;
    const states = HEADER.states.map((name, i) => ({ values: curve(`${name}_count`), color: HEADER.colors[i] }));
    const residuals = [{ values: curve("residual"), color: "#2f6fd0" }];
    if (data.coulomb || HEADER.relaxed) residuals.push({ values: curve("coulomb"), color: "#d98a2b" });
    this.plots = [
      new Plot(element("energy"), times, energy, {}, seek),
      new Plot(element("residual"), times, residuals, { log: 1e-18, mark: HEADER.tolerance }, seek),
      new Plot(element("contacts"), times, [states[2], states[1], states[0]], { stacked: true }, seek),
    ];
    this.plotTimes = times;
  }

  subtitle(steps, start, end, step) {
    return `${steps} steps of ${number(step)} s, from t = ${number(start)} to ${number(end)} s · ${HEADER.bodies.length} bodies`;
  }

  // The same figures as in the summary of `perp simulate`.
  writeFigures({ residual, coulomb, penetration, unmet, relaxed }) {
    const figure = (value, text, bad) => `<div${bad ? ' class="bad"' : ""}><b>${value}</b><span>${text}</span></div>`;
    element("figures").innerHTML = figure(short(residual), "residual", residual > HEADER.tolerance)
      + (relaxed ? figure(short(coulomb), "from Coulomb", true) : "")
      + figure(length(penetration), "penetration") + figure(Number(unmet), "steps missed", unmet > 0);
  }

  buildPage() {
    const { steps, stride, step } = HEADER;
    element("title").textContent = HEADER.title;
    if (!HEADER.live) {
      const thin = stride > 1 ? ` · every ${ordinal(stride)} is shown` : "";
      element("subtitle").textContent = this.subtitle(steps, this.frames.begin, this.frames.end, step) + thin;
      this.writeFigures({ ...HEADER, relaxed: Boolean(this.data.coulomb) });
    }
    HEADER.bodies.forEach((name, i) => element("follow").append(new Option(name, i)));
    Object.assign(element("scrub"), { min: this.frames.begin, max: this.frames.end });
    const keys = { space: "play or pause", "← →": "one frame", "Home End": "first, last frame", "[ ]": "slower, faster", A: "force arrows",
      C: "friction cones", X: "see through bodies", F: "follow the next body", R: "reset the view", D: "dark or light", L: "repeat" };
    for (const [key, text] of Object.entries(keys)) {
      element("key-list").append(Object.assign(document.createElement("dt"), { textContent: key }),
        Object.assign(document.createElement("dd"), { textContent: text }));
    }
    this.cell = roundLength(HEADER.radius / 4);
    element("note").textContent = [`grid ${length(this.cell)}`, ...HEADER.notes].join(" · ");
    this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
  }

  bind() {
    const press = (id, action) => element(id).addEventListener("click", action);
    const toggle = (id) => () => { element(id).checked = !element(id).checked; this.change(); };
    const nudge = (frames) => () => {
      if (this.running) this.live.send({ kind: "pause" });
      else this.setPlaying(false);
      this.jump(frames);
    };
    const speed = (by) => () => {
      const select = element("speed");
      const last = select.length - (this.running ? 1 : 2);
      select.selectedIndex = Math.min(Math.max(select.selectedIndex + by, 0), last);
      select.dispatchEvent(new Event("input"));
    };
    const actions = {
      " ": () => (this.running ? this.live.send({ kind: this.live.state.playing ? "pause" : "play" }) : this.setPlaying(!this.playing)),
      ArrowLeft: nudge(-1), ArrowRight: () => (this.running && this.time >= this.frames.end - 1e-7 ? this.live.send({ kind: "step" }) : nudge(1)()),
      0: () => { if (this.running || (this.live && this.live.state.again)) this.live.send({ kind: "reset" }); },
      Home: () => this.seek(this.frames.begin), End: () => this.seek(this.frames.end), "[": speed(-1), "]": speed(1),
      a: toggle("forces"), c: toggle("cones"), x: toggle("through"), r: () => this.camera.home(...this.start),
      d: () => this.setTheme(!this.dark), l: () => this.setLoop(!this.loop), "?": () => element("keys").showModal(),
      f: () => {
        const select = element("follow");
        select.selectedIndex = (select.selectedIndex + 1) % select.length;
        this.change();
      },
    };
    press("play", actions[" "]); press("back", actions.ArrowLeft); press("forward", actions.ArrowRight);
    press("reset", actions.r); press("theme", actions.d); press("help", actions["?"]); press("loop", actions.l);
    press("keys", () => element("keys").close());
    element("scrub").addEventListener("input", () => this.seek(Number(element("scrub").value), false));
    for (const id of ["forces", "cones", "through", "length", "follow"]) element(id).addEventListener("input", () => this.change());
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || element("keys").open) return;
      const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action || (event.target.tagName === "SELECT" && event.key !== " ")) return;
      event.preventDefault();
      action();
    });
    new ResizeObserver(() => this.change()).observe(element("view"));
    new ResizeObserver(() => this.change()).observe(element("panel"));
    this.setLoop(true);
  }

  // Part of the address after #: t, azimuth, elevation, zoom, theme, bare, play; for pictures and links.
  fromAddress() {
    const wish = new URLSearchParams(location.hash.slice(1));
    const value = (name, other) => (wish.has(name) ? Number(wish.get(name)) : other);
    this.start = [value("azimuth", -60), value("elevation", 18), value("zoom", 1)];
    this.camera.home(...this.start);
    if (wish.has("theme")) this.setTheme(wish.get("theme") === "dark");
    document.body.classList.toggle("bare", wish.has("bare"));
    for (const id of ["forces", "cones", "through"]) if (wish.has(id)) element(id).checked = wish.get(id) !== "0";
    element("length").value = value("length", 0);
    if (wish.has("follow")) element("follow").value = String(HEADER.bodies.indexOf(wish.get("follow")));
    this.seek(value("t", this.frames.begin));
    if (!HEADER.live && !wish.has("t") && wish.get("play") !== "0" && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.setPlaying(true);
  }

  seek(time, pauses = false) {
    this.time = Math.min(Math.max(time, this.frames.begin), this.frames.end);
    if (pauses) this.setPlaying(false);
    this.change();
  }

  jump(frames) {
    const { frame, share } = this.frames.locate(this.time);
    const last = this.frames.times.length - 1;
    this.seek(this.frames.times[Math.min(Math.max(frame + frames + (frames < 0 && share > 1e-6 ? 1 : 0), 0), last)]);
  }

  setPlaying(playing) {
    if (playing && this.time >= this.frames.end) this.time = this.frames.begin;
    this.playing = playing;
    element("play").setAttribute("aria-pressed", playing);
    this.change();
  }

  setLoop(loop) {
    this.loop = loop;
    element("loop").setAttribute("aria-pressed", loop);
  }

  setTheme(dark) {
    this.dark = dark;
    document.documentElement.classList.toggle("dark", dark);
    const style = getComputedStyle(document.documentElement);
    this.ink = Object.fromEntries(["text", "quiet", "line"].map((name) => [name, style.getPropertyValue(`--${name}`)]));
    this.change();
  }

  tick(now) {
    const passed = Math.min((now - (this.before || now)) / 1000, 0.25);
    this.before = now;
    if (this.running) {
      if (this.live.state.playing) this.time = this.near(passed * (Number(element("speed").value) || Infinity));
      this.dirty = this.dirty || this.live.state.playing;
    } else if (this.playing) {
      this.time += passed * Number(element("speed").value);
      if (this.time > this.frames.end) {
        this.time = this.loop ? this.frames.begin : this.frames.end;
        if (!this.loop) this.setPlaying(false);
      }
      this.dirty = true;
    }
    if (this.dirty) {
      this.dirty = false;
      this.draw();
    }
    requestAnimationFrame((next) => this.tick(next));
  }

  // The time to show of a run that goes on: a little behind its newest frame, so that motion is smooth.
  near(passed) {
    const { end } = this.frames;
    const behind = 0.1 * Math.min(Number(element("speed").value) || 4, 4);
    return Math.min(Math.max(this.time + passed, end - behind), end);
  }

  draw() {
    if (!this.frames.times.length) return;
    const place = this.frames.locate(this.time);
    const follow = Number(element("follow").value);
    const poses = this.frames.placeBodies(place, this.groups, this.shadowMiddle || HEADER.centre, 14 * HEADER.radius);
    this.poses = poses;
    if (follow >= 0) {
      const at = poses[follow][0];
      if (this.followed === follow) this.camera.target = add(this.camera.target, subtract(at, this.lastSeen));
      else this.camera.target = [...at];
      this.lastSeen = at;
    }
    this.followed = follow;
    const show = { forces: element("forces").checked, cones: element("cones").checked };
    const counts = this.frames.placeContacts(place, this.marks, show, 2 ** Number(element("length").value));
    if (this.camera.hand) this.camera.hand.mark(poses, this.marks.arrow);
    const { camera, eye } = this.camera.view(this.renderer.resize());
    const middle = this.shadowMiddle = this.camera.target;
    this.renderer.render(this.scene, {
      camera, eye, middle, radius: Math.max(1.4 * HEADER.radius, 0.5 * this.camera.distance), reach: Math.max(8 * HEADER.radius, 2.5 * this.camera.distance),
      cell: this.cell, opacity: element("through").checked ? 0.3 : 1, theme: this.dark ? THEMES.dark : THEMES.light,
    });
    element("scrub").value = this.time;
    element("time").textContent = `${this.time.toFixed(3)} / ${this.frames.end.toFixed(2)} s`;
    for (const plot of this.plots) plot.draw(this.time, this.ink);
    this.writeKeys(counts);
  }

  writeKeys(counts) {
    let i = 0;
    while (i + 1 < this.plotTimes.length && this.plotTimes[i + 1] <= this.time + 1e-7) i++;
    const entry = (color, name, value) => `<span><i style="background:${color}"></i>${name} <b>${value}</b></span>`;
    element("energy-key").innerHTML = ENERGY.map(([name, color], k) => entry(color, name, number(this.energy[k].values[i]))).join("");
    element("state-key").innerHTML = [2, 1, 0].map((k) => entry(HEADER.colors[k], HEADER.states[k], counts[k])).join("");
  }
}

const number = (value) => (!Number.isFinite(value) ? "–" : Math.abs(value) >= 1e4 || (value && Math.abs(value) < 1e-3) ? value.toExponential(1) : String(Number(value.toPrecision(3))));
const ordinal = (n) => `${n}${n % 100 > 10 && n % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][n % 10] || "th"} step`;

// Two digits, as Python's ".2g" has them.
function short(value) {
  if (value === 0) return "0";
  const [digits, power] = value.toExponential(1).split("e");
  const whole = Number(power);
  return whole < -4 || whole >= 2 ? `${Number(digits)}e${whole < 0 ? "-" : "+"}${String(Math.abs(whole)).padStart(2, "0")}` : `${Number(value.toPrecision(2))}`;
}

function length(metres) {
  for (const [scale, name] of [[1, "m"], [1e-2, "cm"], [1e-3, "mm"], [1e-6, "µm"], [1e-9, "nm"]]) {
    if (Math.abs(metres) >= scale) return `${number(metres / scale)} ${name}`;
  }
  return metres > 0 ? "< 1 nm" : "0";
}

try {
  const player = new Player(await unpack());
  if (player.live) {
    await player.live.poll();
    player.live.follow();
  }
  window.player = player;
} catch (error) {
  element("message").hidden = false;
  element("message").textContent = error.message;
}
