// Copies of a mesh: three axes and an origin per copy, with the colour in their fourth components.
const COPY_INPUT = `#version 300 es
precision highp float;
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 axisX;
layout(location = 3) in vec4 axisY;
layout(location = 4) in vec4 axisZ;
layout(location = 5) in vec4 origin;
layout(location = 6) in vec3 tint;
vec3 place() { return axisX.xyz * position.x + axisY.xyz * position.y + axisZ.xyz * position.z + origin.xyz; }
`;

const SHADOW_VERTEX = `${COPY_INPUT}
uniform mat4 light;
void main() { gl_Position = light * vec4(place(), 1.0); }
`;

const SHADOW_FRAGMENT = `#version 300 es
void main() {}
`;

const BODY_VERTEX = `${COPY_INPUT}
uniform mat4 camera;
out vec3 at;
out vec3 facing;
out vec4 paint;
void main() {
  at = place();
  // axes carry the scale: dividing by its square twice undoes it, as normals need
  facing = axisX.xyz * (normal.x / dot(axisX.xyz, axisX.xyz)) + axisY.xyz * (normal.y / dot(axisY.xyz, axisY.xyz))
    + axisZ.xyz * (normal.z / dot(axisZ.xyz, axisZ.xyz));
  paint = vec4(vec3(axisX.w, axisY.w, axisZ.w) * tint, origin.w);
  gl_Position = camera * vec4(at, 1.0);
}
`;

const LIGHT = `
uniform mat4 light;
uniform highp sampler2DShadow shadows;
uniform vec3 sun;
uniform float texel;
float lit(vec3 point, vec3 n) {
  vec4 p = light * vec4(point + n * texel * 2.0, 1.0);
  vec3 uvz = p.xyz / p.w * 0.5 + 0.5;
  if (any(greaterThan(abs(uvz - 0.5), vec3(0.5)))) return 1.0;
  uvz.z -= 0.0008;
  float sum = 0.0;
  for (int i = -2; i <= 2; i++) for (int j = -2; j <= 2; j++)
    sum += texture(shadows, vec3(uvz.xy + vec2(i, j) / 2048.0, uvz.z));
  return sum / 25.0;
}
`;

const BODY_FRAGMENT = `#version 300 es
precision highp float;
in vec3 at;
in vec3 facing;
in vec4 paint;
out vec4 color;
uniform vec3 eye;
uniform float opacity;
uniform float glow;
uniform float brightness;
${LIGHT}
void main() {
  vec3 look = normalize(eye - at);
  vec3 n = normalize(facing);
  if (dot(n, look) < 0.0) n = -n;
  vec3 base = pow(paint.rgb, vec3(2.2));
  float direct = max(dot(n, sun), 0.0) * lit(at, n);
  vec3 sky = mix(vec3(0.30, 0.29, 0.28), vec3(0.62, 0.66, 0.72), n.z * 0.5 + 0.5);
  float shine = pow(max(dot(n, normalize(sun + look)), 0.0), 40.0) * direct * 0.18;
  float rim = pow(1.0 - max(dot(n, look), 0.0), 4.0) * 0.12;
  vec3 shaded = base * (sky * 0.75 + direct * vec3(1.0, 0.96, 0.9) * 0.95) + shine + rim * sky * 0.4;
  vec3 final = mix(shaded * brightness, base, glow);
  color = vec4(pow(final, vec3(1.0 / 2.2)), paint.a * opacity);
  color.rgb *= color.a;
}
`;

// The ground: a grid whose lines stay one pixel wide, shadows, and a soft end instead of a horizon.
const GROUND_FRAGMENT = `#version 300 es
precision highp float;
in vec3 at;
in vec3 facing;
in vec4 paint;
out vec4 color;
uniform vec3 eye;
uniform vec3 middle;
uniform float reach;
uniform float cell;
uniform vec4 ground;
uniform vec4 line;
${LIGHT}
float lines(vec2 p, float size) {
  vec2 q = p / size;
  vec2 width = fwidth(q);
  vec2 near = abs(fract(q - 0.5) - 0.5) / max(width, 1e-6);
  float strength = 1.0 - min(min(near.x, near.y), 1.0);
  return strength * clamp(1.0 - max(width.x, width.y) * 2.5, 0.0, 1.0);
}
void main() {
  vec3 n = normalize(facing);
  vec3 a = abs(n);
  vec2 p = a.z > 0.5 ? at.xy : a.x > a.y ? at.yz : at.xz;
  float fade = 1.0 - smoothstep(0.25, 1.0, distance(at, middle) / reach);
  float mark = max(lines(p, cell) * 0.45, lines(p, cell * 5.0));
  float shade = (1.0 - lit(at, n)) * 0.42;
  vec4 floor_ = mix(ground, vec4(line.rgb, 1.0), mark * line.a);
  vec3 mixed = mix(floor_.rgb, vec3(0.02, 0.03, 0.06), shade);
  float alpha = max(floor_.a, shade) * fade;
  if (dot(eye - at, n) < 0.0) alpha *= 0.15;
  color = vec4(mixed * alpha, alpha);
}
`;
