/** Lucide's icons (ISC licence) for the page; Obsidian includes its own. */

import {
  ArrowDown,
  ArrowRight,
  ArrowUp,
  Check,
  ChevronDown,
  ChevronRight,
  CircleCheck,
  Copy,
  Ellipsis,
  File,
  FileOutput,
  FilePenLine,
  FilePlus,
  FileText,
  Folder,
  FolderMinus,
  FolderPlus,
  GitBranch,
  Hand,
  type IconNode,
  Image,
  Info,
  KeyRound,
  Lightbulb,
  MessageSquare,
  Mic,
  Pencil,
  Plug,
  Quote,
  RotateCcw,
  Search,
  ShieldAlert,
  Square,
  SquarePen,
  Tag,
  Terminal,
  Trash,
  TriangleAlert,
  Undo2,
  Wrench,
  X,
} from "lucide";

const ICONS: Record<string, IconNode> = {
  "arrow-down": ArrowDown,
  "arrow-right": ArrowRight,
  "arrow-up": ArrowUp,
  check: Check,
  "chevron-down": ChevronDown,
  "chevron-right": ChevronRight,
  "circle-check": CircleCheck,
  copy: Copy,
  ellipsis: Ellipsis,
  file: File,
  "file-output": FileOutput,
  "file-pen-line": FilePenLine,
  "file-plus": FilePlus,
  "file-text": FileText,
  folder: Folder,
  "folder-minus": FolderMinus,
  "folder-plus": FolderPlus,
  "git-branch": GitBranch,
  hand: Hand,
  image: Image,
  info: Info,
  "key-round": KeyRound,
  lightbulb: Lightbulb,
  "message-square": MessageSquare,
  mic: Mic,
  pencil: Pencil,
  plug: Plug,
  quote: Quote,
  "rotate-ccw": RotateCcw,
  search: Search,
  "shield-alert": ShieldAlert,
  square: Square,
  "square-pen": SquarePen,
  tag: Tag,
  terminal: Terminal,
  trash: Trash,
  "triangle-alert": TriangleAlert,
  "undo-2": Undo2,
  wrench: Wrench,
  x: X,
};

const SVG = "http://www.w3.org/2000/svg";

/** Draws an icon into an element. The space of an unknown icon stays empty. */
export function drawIcon(into: HTMLElement, name: string): void {
  const document = into.ownerDocument;
  const svg = document.createElementNS(SVG, "svg");
  const look = { viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", "stroke-width": "2", "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true" };
  for (const [key, value] of Object.entries(look)) svg.setAttribute(key, value);
  svg.classList.add("svg-icon");
  for (const [tag, attributes] of ICONS[name] ?? []) {
    const part = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, String(value));
    svg.appendChild(part);
  }
  while (into.lastChild?.nodeName === "svg") into.removeChild(into.lastChild);
  into.prepend(svg);
}
