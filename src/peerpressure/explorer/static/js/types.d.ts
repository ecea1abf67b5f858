// The shapes that several modules share: scenarios, what the server answers, and the page's own state.

export type AgentLabel = string | number;
export type Theme = "light" | "dark";

/**
 * A table of a scenario, with the keys of a TOML file. Only keys that the page reads are named in the types below; all
 * others, such as those of the model's extensions, are passed on unchanged.
 */
export interface Section {
  [key: string]: unknown;
}

export interface NetworkSection extends Section {
  generator?: string;
  named?: string;
  edges?: [number, number][];
  directed?: boolean;
  temporal?: string;
}

export interface AgentsSection extends Section {
  /** One number per agent if drawn by hand, otherwise a law to draw them from. */
  hidden?: number[] | Section;
  stubbornness?: number | number[] | LawSection;
  /** Agents who listen to nobody. */
  zealots?: AgentLabel[];
}

export interface LawSection extends Section {
  law: string;
}

export interface PressureSection extends Section {
  kind?: string;
  formula?: string;
}

export interface NoiseSection extends LawSection {
  temporal?: string | Section;
}

export interface RunSection extends Section {
  steps: number;
  seed?: number;
}

export interface ObserveSection extends Section {
  /** Everyone is observed if this is left out. */
  agents?: AgentLabel[];
  times?: number[];
  first_step?: number;
  methods?: string[];
  /** Settings of the inference if the observer does not know the network. */
  unknown_network?: Section;
}

export interface Scenario extends Section {
  network: NetworkSection;
  topics?: Section;
  agents?: AgentsSection;
  pressure?: PressureSection;
  noise?: NoiseSection;
  run: RunSection;
  observe?: ObserveSection;
  privacy?: Section;
}

/** How the page shows a scenario. */
export interface View {
  /** Whether only the story is shown: what agents hide, show and give away, with one control. */
  simple: boolean;
  tab: "curves" | "observer";
  /** Labels of the agents that are followed. */
  agents: AgentLabel[];
  /** Null if the page chooses by the shape of the run. */
  logTime: boolean | null;
  logSize: boolean;
  colour: "public" | "hidden" | "exposure";
  /** Whether the colours span the opinions of the time shown. Null if the page chooses. */
  zoomColours: boolean | null;
  time: number;
  /** In steps of the model per second, on a linear axis of time. */
  speed: number;
  /** In seconds for a factor of ten, on a logarithmic one. */
  pace: number;
  /** Which topic is shown, where there are several. */
  topic: number;
}

export interface State {
  scenario: Scenario;
  view: View;
  /** The scenario that is compared with, if any. */
  other?: Scenario | null;
}

/** A state from outside the page. Its view may lack keys or hold values of a wrong type. */
export interface UncheckedState {
  scenario: Scenario;
  view: unknown;
  other?: Scenario | null;
}

/** An agent that is followed, in the network shown. */
export interface FollowedAgent {
  index: number;
  label: AgentLabel;
  /** The label as it is shown. */
  name: string;
}

// The catalogue: everything that can be chosen, with titles and ranges.

/** A number that a slider sets. */
export interface Parameter {
  /** Its key in the scenario. */
  name: string;
  title: string;
  kind: "int" | "float";
  min: number;
  max: number;
  default: number;
  step: number;
  scale?: "log";
}

export interface Option {
  id: string;
  title: string;
  blurb?: string;
  parameters?: Parameter[];
  /** Keys that a section of this kind always has. */
  fixed?: Section;
  examples?: string[];
  /** The heading under which a long list shows the option. */
  group?: string;
}

export interface Method extends Option {
  /** Whether this is the method of the paper. */
  paper: boolean;
  /** Whether it applies in continuous time. */
  continuous: boolean;
}

export interface Preset {
  id: string;
  title: string;
  group: string;
  blurb: string;
  state: UncheckedState;
}

/** A part of a scenario that is left out unless it is added. */
export interface Feature {
  /** Its key, with dots. */
  path: string;
  title: string;
  blurb?: string;
  options: Option[];
}

export interface Catalogue {
  limits: { upload_bytes: number };
  generators: Option[];
  temporal_networks: Option[];
  features: Feature[];
  named: Option[];
  schedules: Option[];
  noises: Option[];
  temporals: Option[];
  hidden_laws: Option[];
  stubbornness: Option[];
  run: Parameter[];
  privacy: Parameter[];
  methods: Method[];
  presets: Preset[];
  default: UncheckedState;
  /** What a page without a server says of itself. */
  recorded?: Recorded;
}

/** A run that a page plays without a server. */
export interface Recorded {
  /** Why settings cannot be changed, and how they can. */
  reason: string;
  /** Whether pressure, noise and steps can be changed, and the page computes what comes of it. */
  plays: boolean;
  /** What was left out. */
  notes: string[];
  /** Parts of the model and of the run in words. */
  settings: [string, string][];
  provenance: Record<string, unknown>;
}

// Answers. JSON has no infinities or NaN; the server sends null instead.

/** A flat array in row-major order. */
export type Shaped<T> = T & { shape: number[] };
type Float32 = Shaped<Float32Array<ArrayBuffer>>;
type Float64 = Shaped<Float64Array<ArrayBuffer>>;
type Uint32 = Shaped<Uint32Array<ArrayBuffer>>;
export type PackedArray = Float32 | Float64 | Uint32;

/** A binary answer. */
export interface Packed<Header = object, Arrays = Record<string, PackedArray>> {
  header: Header;
  arrays: Arrays;
}

export type NetworkAnswer = Packed<
  {
    n: number;
    /** In words. */
    facts: string[];
    /** Null if agents are numbered from 0. */
    labels: AgentLabel[] | null;
    weighted: boolean;
    directed: boolean;
    /** Whether weights are 1 and −1 only. */
    unit_weights: boolean;
    edge_count: number;
    /** A drawing of very many edges leaves some out. */
    edges_shown: number;
    /** Whether the positions are those of a well-known shape, such as a lattice. */
    exact: boolean;
  },
  {
    /** (agents, 2), within [−1, 1]. */
    positions: Float32;
    /** (edges, 2), as indices of agents. */
    edges: Uint32;
    /** (edges), flags: 1 if only the first agent listens to the second, 2 if the weight is negative. */
    looks: Uint32;
    /** How much each agent listens to others. */
    degrees: Float32;
    /** (agents), of the dots, in units of the positions. */
    radii: Float32;
  }
>;

/** The long-run behaviour of the agents, from theory. */
export interface Verdict {
  outcome: string;
  words: string;
  /** The outcome as a title. */
  heading: string;
  /** One plain sentence on what becomes of the opinions. */
  summary: string;
  /** Another one on the end of the run, null without a forecast. */
  outlook: string | null;
  /** The text of all reasons. */
  reason: string;
  reasons: { code: string; values: Record<string, number | string | null>; text: string }[];
  /** The growth of the pressure. */
  regime: string;
  /** The consensus value v. */
  value: number;
  kappa: number;
  rates: { bias: PowerLaw | null; variance: PowerLaw | null; disagreement: PowerLaw | null };
  forecast: Forecast | null;
  advice: Advice | null;
}

/** Proportional to t to the power of −exponent (null: ∞), times log t if `log`. */
export interface PowerLaw {
  exponent: number | null;
  log: boolean;
  constant: number | null;
}

/** Root mean square distances at the end of the run, with their standard errors: 0 where they are exact. */
export interface Forecast {
  disagreement: number | null;
  rms_distance: number | null;
  disagreement_stderr: number;
  rms_distance_stderr: number;
  settling: Settling | null;
  /** Whether distances are to the agents' own limits, where these differ, and not to v. */
  own_limits: boolean;
}

/**
 * Steps from which on agents are within the tolerance of each other and of v; null if not by the last step. Bounds may
 * be too early. In continuous time a step has a length.
 */
export interface Settling {
  tolerance: number;
  steps: number;
  each_other: number | null;
  value: number | null;
  step_length: number | null;
  is_bound: boolean;
}

/** Schedules under which agents are closer to v at the end of the run, the best first. */
export interface Advice {
  rms_distance: number | null;
  suggestions: Suggestion[];
}

export interface Suggestion {
  name: "optimal" | "averaging" | "line" | "tuned";
  /** The schedule as a formula. */
  text: string;
  section: PressureSection;
  rms_distance: number | null;
  /** Whether agents end closer to v by a share of the range of opinions that is worth another schedule. */
  worthwhile: boolean;
  /** In the long run; null if the schedule is for this run only. */
  outcome: string | null;
  words: string | null;
}

/** T is the number of times shown, and R that of replicates whose curves are drawn one by one. */
export type RunAnswer = Packed<
  {
    n: number;
    /** Names, if there are several. */
    topics: string[];
    /** Which of them the arrays are about. */
    topic: number;
    replicates: number;
    consensus_value: number;
    /** The values of closed classes and camps, v alone if there is one. */
    class_values: number[];
    /** Whether agents come to different values, to which distances are measured. */
    own_limits: boolean;
    signed: boolean;
    /** The formula of ρ_t. */
    pressure: string;
    /** A sentence on the value of this run where values differ between runs, else empty. */
    this_run: string;
    verdict: Verdict;
  },
  {
    times: Float64;
    pressure_times: Float64;
    /** Not finite beyond the range of doubles. */
    pressures: Float64;
    /** What agents show in the first replicate, (T, agents). */
    states: Float32;
    /** What they think: (agents), or (T, agents) if opinions adapt. */
    hidden: Float32;
    stubbornness: Float32;
    /** All of these are (R, T). */
    minimum: Float32;
    maximum: Float32;
    mean: Float32;
    spread: Float32;
    max_distance: Float32;
    /** Means over all replicates, (T). */
    spread_mean: Float32;
    max_distance_mean: Float32;
  }
>;

/** The first row is the mean over the network, the others are the agents asked for. */
export type ExactAnswer = Packed<
  {
    names: AgentLabel[];
    /** Null if it would take too long. */
    verdict: Verdict | null;
  },
  { times: Float64; mean: Float64; std: Float64 }
>;

export interface MethodResult {
  id: string;
  /** The method that "auto" has taken; for others the same. */
  used: string;
  /** What a reader must know about how the outputs were read. */
  note?: string;
  rmse: number | null;
  expected_rmse: number | null;
  /** Why there is no estimate, null if there is one. */
  failed: string | null;
}

export type ObserveAnswer = Packed<
  {
    methods: MethodResult[];
  },
  {
    truth: Float64;
    [estimates: `estimate_${string}` | `std_${string}`]: Float64;
  }
>;

/** What is learned about each agent; without arrays if that is not known. */
export type ExposureAnswer = Packed<
  { summary: string; text: string; note: string; prior_std: number | null },
  {
    /** The standard deviation that the best observer is left with. */
    exposure?: Float64;
  }
>;

/** The privacy budget over time: a plain sentence, and what exactly is promised; that is empty without a promise. */
export type BudgetAnswer = Packed<
  { summary: string; text: string; epsilon: number | null; runs: number },
  { budget_times?: Float64; budget_epsilon?: Float64 }
>;

/** The budget, and the error that the observer expects, under noise of several sizes; `std` is that of the scenario. */
export type BenchAnswer = Packed<
  { std: number; failed: string | null },
  { noise: Float64; epsilon: Float64; error: Float64 }
>;

/** What the observer makes of the steps up to each of T times. */
export type RecoveredAnswer = Packed<
  {
    /** Why there is no estimate, null if there is one. */
    failed: string | null;
    /** The name of the method that suits what is observed. */
    title: string | null;
    note: string;
  },
  {
    times: Float64;
    /** (T, agents); NaN where the steps up to then tell nothing. */
    values: Float32;
    std: Float32;
    truth: Float64;
  }
>;

/** The edges that are inferred from the steps up to each of T times, of m pairs of agents. */
export type InferenceAnswer = Packed<
  {
    /** Why there is no time, null if there is one. */
    failed: string | null;
  },
  {
    times: Float64;
    average_precision: Float64;
    /** (m, 2), as indices of agents. */
    pairs: Uint32;
    /** Whether they are connected, (m). */
    true: Uint32;
    /** (T, m); 0 for pairs that are not taken for edges. */
    weights: Float32;
    /** (T, m); NaN with fewer steps than agents. */
    confidence: Float32;
  }
>;

/** What an edge of a file means: by default graphs say it themselves, and edge lists are mutual. */
export type EdgeMeaning = "" | "mutual" | "listens" | "influences";

export interface UploadAnswer {
  network: NetworkSection;
  facts: string[];
}

/** What each path answers. */
export interface Answers {
  "/api/network": NetworkAnswer;
  "/api/run": RunAnswer;
  "/api/exact": ExactAnswer;
  "/api/recovered": RecoveredAnswer;
  "/api/observe": ObserveAnswer;
  "/api/exposure": ExposureAnswer;
  "/api/budget": BudgetAnswer;
  "/api/bench": BenchAnswer;
  "/api/inference": InferenceAnswer;
  "/api/check": object;
}
