"""Reads the JSON that rustdoc makes of crates, and writes types, bounds and impls so that those of two crates compare."""

import collections
import json
import re

# Modules that are public for the sake of macros alone: what they hold is nobody's interface.
FOR_MACROS = {"tokio::macros"}
AUTO_TRAITS = ["Send", "Sync", "Unpin", "UnwindSafe", "RefUnwindSafe"]

TYPES = {"module", "struct", "enum", "union", "trait", "trait_alias", "type_alias", "primitive"}
MACROS = {"macro", "proc_macro", "proc_attribute", "proc_derive"}


def kind_of(item):
    return next(iter(item["inner"]))


def inner_of(item):
    return item["inner"][kind_of(item)]


def namespace(kind):
    return "type" if kind in TYPES else "macro" if kind in MACROS else "value"


def has_attribute(item, name):
    """Whether an item has an attribute, in any of the forms that rustdoc has for it."""
    squeezed = name.replace("_", "").lower()
    for attribute in item["attrs"]:
        if isinstance(attribute, dict):
            known = next(iter(attribute))
            if known == name:
                return True
            attribute = str(attribute[known])
        words = re.findall(r"\w+", attribute)
        if words and (words[0] == name or (words[0] == "attr" and words[1].lower() == squeezed)):
            return True
    return False


def is_hidden(item):
    return any("hidden" in re.findall(r"\w+", str(attribute)) for attribute in item["attrs"])


class Crate:
    """The JSON of one crate."""

    def __init__(self, name, text):
        self.name = name
        self.index = {str(number): item for number, item in text["index"].items()}
        self.paths = {str(number): summary for number, summary in text["paths"].items()}
        self.external = {str(number): crate["name"] for number, crate in text["external_crates"].items()}
        self.root = str(text["root"])
        self.local = {}
        for number, summary in self.paths.items():
            if summary["crate_id"] == 0 and number in self.index:
                self.local[summary["kind"], "::".join(summary["path"])] = number


class Side:
    """Crates that make one interface: names lead from the root crate, `tokio`, into the others."""

    def __init__(self, crates):
        self.crates = {crate.name: crate for crate in crates}
        self.names = {}  # (namespace, path) -> key
        self.kinds = {}  # (namespace, path) -> kind
        self.paths = collections.defaultdict(set)  # key -> public paths
        self.common = {}  # key -> the path that both sides have
        root = self.crates["tokio"]
        self._walk(("tokio", root.root), "tokio", ())
        self._impls = None

    def item(self, key):
        crate = self.crates.get(key[0])
        return crate.index.get(key[1]) if crate else None

    def key(self, crate, number):
        """The crate that defines an item, and its number there; or its path, if the crate is not ours."""
        number = str(number)
        if number in self.crates[crate].index:
            return crate, number
        summary = self.crates[crate].paths.get(number)
        if not summary:
            return "?", number
        path = "::".join(summary["path"])
        owner = self.crates[crate].external.get(str(summary["crate_id"]), crate)
        if owner in self.crates and owner != crate:
            found = self.crates[owner].local.get((summary["kind"], path))
            if found:
                return owner, found
        return "", path

    def _walk(self, module, path, inside):
        if module in inside or path in FOR_MACROS:
            return
        for number in inner_of(self.item(module))["items"]:
            self._enter((module[0], str(number)), path, inside + (module,))

    def _enter(self, key, path, inside):
        item = self.item(key)
        if item is None or is_hidden(item) and kind_of(item) in MACROS:
            return
        kind = kind_of(item)
        if item["visibility"] != "public" and not has_attribute(item, "macro_export"):
            return
        if kind == "use":
            self._use(key[0], inner_of(item), path, inside, is_hidden(item))
        elif kind == "macro" and not has_attribute(item, "macro_export"):
            return
        elif kind != "impl" and not (item["name"] or "").startswith("__"):
            self._name(kind, f"{path}::{item['name']}", key, inside)

    def _use(self, crate, use, path, inside, hidden):
        if use["id"] is None:
            return
        key = self.key(crate, use["id"])
        item = self.item(key)
        if use["is_glob"]:
            if item and kind_of(item) == "module" and key not in inside:
                self._walk(key, path, inside)
            elif item and kind_of(item) == "enum":
                for number in inner_of(item)["variants"]:
                    variant = (key[0], str(number))
                    self._name("variant", f"{path}::{self.item(variant)['name']}", variant, inside)
            return
        name = f"{path}::{use['name']}"
        if item is None:
            summary = self.crates[crate].paths.get(str(use["id"]))
            kind = summary["kind"] if summary else "struct"
            if not (hidden and kind in MACROS):
                self._name(kind, name, key, inside)
        elif kind_of(item) == "use":
            self._use(key[0], inner_of(item), path, inside, hidden)
        else:
            self._name(kind_of(item), name, key, inside)

    def _name(self, kind, path, key, inside):
        entry = (namespace(kind), path)
        if entry in self.names or path in FOR_MACROS or path.split("::")[-1].startswith("__"):
            return
        self.names[entry] = key
        self.kinds[entry] = kind
        self.paths[key].add(path)
        if kind == "module" and key[0]:
            self._walk(key, path, inside)

    def agree(self, other):
        """Chooses for each item a path under which the other side has it too."""
        shared = self.names.keys() & other.names.keys()
        for entry in sorted(shared, key=lambda entry: (entry[1].count("::"), entry[1])):
            self.common.setdefault(self.names[entry], entry[1])

    def impls(self):
        """Every trait impl that was written or derived from auto traits: {`Trait for Type`: Impl}."""
        if self._impls is None:
            self._impls = {}
            for crate in self.crates.values():
                for item in crate.index.values():
                    if kind_of(item) == "impl":
                        self._learn_impl(crate.name, inner_of(item))
        return self._impls

    def _learn_impl(self, crate, made):
        if made["trait"] is None or made["blanket_impl"] is not None:
            return
        name = self.key(crate, made["trait"]["id"])
        if name in self.paths or not name[0]:
            last = name[1].split("::")[-1] if not name[0] else None
            if last == "Drop" or made["is_synthetic"] and last not in AUTO_TRAITS:
                return
            text = Text(self, crate)
            shown = text.type(made["for"])
            text.self_type = shown
            shown = turned(text.path(made["trait"]), shown)
            if "private " in shown or "future<" in shown:
                return
            types = {}
            for number in made["items"]:
                item = self.item((crate, str(number)))
                if item and kind_of(item) == "assoc_type" and inner_of(item)["type"]:
                    types[item["name"]] = text.type(inner_of(item)["type"])
            bounds = text.bounds(made["generics"])
            # Several impls may look the same once lifetimes are gone; the widest counts.
            before = self._impls.get(shown)
            # A type with a `PhantomPinned` inside has the impl, under a condition that never holds.
            pinned = last == "Unpin" and any("PhantomPinned" in bound for bound in bounds)
            new = Impl(bounds, types, made["is_negative"] or pinned)
            if before is None or before.negative or len(new.bounds) < len(before.bounds) and not new.negative:
                self._impls[shown] = new


Impl = collections.namedtuple("Impl", "bounds types negative")


class Text:
    """Writes types, paths and bounds so that two crates can be compared: generics by number, full paths, no lifetimes."""

    def __init__(self, side, crate, self_type="Self"):
        self.side = side
        self.crate = crate
        self.self_type = self_type
        self.generics = {}
        self.given = {}  # generic -> (Text, type), where it is known what stands for it

    def inside(self, prefix, generics):
        """The same with the generics of a function, in the order in which a turbofish takes them."""
        new = Text(self.side, self.crate, self.self_type)
        new.generics = dict(self.generics)
        count = 0
        for parameter in generics["params"]:
            if "lifetime" not in parameter["kind"] and not is_synthetic(parameter):
                new.generics[parameter["name"]] = f"{prefix}{count}"
                count += 1
        return new

    def generic(self, name):
        if name == "Self":
            return self.self_type
        return self.generics.setdefault(name, f"T{len(self.generics)}")

    def type(self, ty):
        if ty is None:
            return "()"
        kind, of = next(iter(ty.items()))
        if kind == "resolved_path":
            return self.path(of)
        if kind == "generic":
            return self.generic(of)
        if kind == "primitive":
            return of
        if kind == "tuple":
            return "(" + ", ".join(self.type(part) for part in of) + ")"
        if kind == "slice":
            return f"[{self.type(of)}]"
        if kind == "array":
            return f"[{self.type(of['type'])}; {of['len']}]"
        if kind == "raw_pointer":
            return f"*{'mut' if of['is_mutable'] else 'const'} {self.type(of['type'])}"
        if kind == "borrowed_ref":
            static = "'static " if of["lifetime"] == "'static" else ""
            return f"&{static}{'mut ' if of['is_mutable'] else ''}{self.type(of['type'])}"
        if kind == "impl_trait":
            return "impl " + " + ".join(sorted(self.bound(bound) for bound in of if self.bound(bound)))
        if kind == "dyn_trait":
            parts = sorted(self.path(bound["trait"]) for bound in of["traits"])
            return "dyn " + " + ".join(parts + (["'static"] if of["lifetime"] == "'static" else []))
        if kind == "function_pointer":
            return self.function_pointer(of)
        if kind == "qualified_path":
            return self.projection(of)
        return kind if kind == "infer" else f"{kind} {json.dumps(of, sort_keys=True)}"

    def projection(self, of):
        if not of["trait"]:
            return f"<{self.type(of['self_type'])}>::{of['name']}"
        text, ty = self.given.get(of["self_type"].get("generic"), (self, of["self_type"]))
        if "resolved_path" in ty:
            path = ty["resolved_path"]
            key = self.side.key(text.crate, path["id"])
            if key[0] and key not in self.side.common:
                known = text.associated(key, path, self.side.key(self.crate, of["trait"]["id"]), of["name"])
                if known:
                    return known
        return f"<{self.type(of['self_type'])} as {self.path(of['trait'])}>::{of['name']}"

    def function_pointer(self, of):
        inputs = ", ".join(self.type(ty) for _, ty in of["sig"]["inputs"])
        return f"{qualifiers(of['header'])}fn({inputs}) -> {self.type(of['sig']['output'])}"

    def path(self, path):
        key = self.side.key(self.crate, path["id"])
        args = self.args(path["args"])
        if not key[0]:
            if key[1] == "std::io::error::Result" and args.count(",") == 0:
                return f"core::result::Result{args[:-1]}, std::io::error::Error>"
            return f"{key[1]}{args}"
        shown = self.side.common.get(key)
        if shown:
            return f"{shown}{args}"
        return self.private(key, path)

    def private(self, key, path):
        """A type that one side alone can name. All that others know of it is what awaiting it gives."""
        output = self.output(key, path)
        return f"future<{output}>" if output else f"private {(self.side.item(key) or {}).get('name')}"

    def output(self, key, path):
        return self.associated(key, path, ("", "core::future::future::Future"), "Output")

    def associated(self, key, path, trait, name):
        """What an associated type of a trait is for a type of ours."""
        item = self.side.item(key)
        if item is None or kind_of(item) not in ("struct", "enum"):
            return None
        for number in inner_of(item)["impls"]:
            made = inner_of(self.side.item((key[0], str(number))))
            if not made["trait"] or made["blanket_impl"] is not None:
                continue
            if self.side.key(key[0], made["trait"]["id"]) != trait:
                continue
            text = Text(self.side, key[0])
            for parameter, argument in zip(positional(made["for"]["resolved_path"]["args"]), positional(path["args"])):
                if "generic" in parameter:
                    text.generics[parameter["generic"]] = self.type(argument)
                    text.given[parameter["generic"]] = (self, argument)
            for number in made["items"]:
                item = self.side.item((key[0], str(number)))
                if item and item["name"] == name:
                    return text.type(inner_of(item)["type"])
        return None

    def args(self, args):
        if not args:
            return ""
        if "parenthesized" in args:
            inputs = ", ".join(self.type(ty) for ty in args["parenthesized"]["inputs"])
            return f"({inputs}) -> {self.type(args['parenthesized']['output'])}"
        if "angle_bracketed" not in args:
            return "(..)"
        shown = []
        for argument in args["angle_bracketed"]["args"]:
            if argument == "infer":
                shown.append("_")
            elif "type" in argument:
                shown.append(self.type(argument["type"]))
            elif "const" in argument:
                shown.append(str(argument["const"]["expr"]))
            elif argument.get("lifetime") == "'static":
                shown.append("'static")
        for constraint in args["angle_bracketed"]["constraints"]:
            binding = constraint["binding"]
            if "equality" in binding:
                equal = binding["equality"]
                value = self.type(equal["type"]) if "type" in equal else str(equal)
                shown.append(f"{constraint['name']} = {value}")
            else:
                parts = sorted(filter(None, (self.bound(bound) for bound in binding["constraint"])))
                shown.append(f"{constraint['name']}: {' + '.join(parts)}")
        return f"<{', '.join(shown)}>" if shown else ""

    def bound(self, bound):
        if "trait_bound" in bound:
            mark = "?" if bound["trait_bound"]["modifier"] == "maybe" else ""
            return mark + self.path(bound["trait_bound"]["trait"]).replace("core::marker::Sized", "Sized")
        if "outlives" in bound and bound["outlives"] == "'static":
            return "'static"
        return ""

    def bounds(self, generics):
        """The set of what is asked of generics, with the `Sized` that is asked of each without words."""
        found = collections.defaultdict(set)
        for parameter in generics["params"]:
            kind, of = next(iter(parameter["kind"].items()))
            name = self.generics.get(parameter["name"]) or (self.generic(parameter["name"]) if kind == "type" else None)
            if kind == "type" and not is_synthetic(parameter):
                found[name].update(self.bound(bound) for bound in of["bounds"])
                found[name].add("Sized")
            elif kind == "const":
                found[name].add(f"const {self.type(of['type'])}")
        for predicate in generics["where_predicates"]:
            if "bound_predicate" in predicate:
                of = predicate["bound_predicate"]
                found[self.type(of["type"])].update(self.bound(bound) for bound in of["bounds"])
            elif "eq_predicate" in predicate:
                of = predicate["eq_predicate"]
                found[self.type(of["lhs"])].add(f"== {json.dumps(of['rhs'], sort_keys=True)}")
        wanted = set()
        for name, bounds in found.items():
            if "?Sized" in bounds:
                bounds -= {"?Sized", "Sized"}
            wanted.update(f"{name}: {bound}" for bound in bounds if bound)
        return frozenset(wanted)

    def parameters(self, generics):
        """What stands between `<` and `>` where a type is defined: kinds and defaults."""
        shown = []
        for parameter in generics["params"]:
            kind, of = next(iter(parameter["kind"].items()))
            default = of.get("default")
            value = "" if default is None else f" = {self.type(default) if kind == 'type' else default}"
            shown.append(kind + value)
        return ", ".join(shown)

    def signature(self, function):
        """(what a call looks like, its kind of future, what is asked of generics)"""
        text = self.inside("F", function["generics"])
        sig = function["sig"]
        inputs = [text.type(ty) for _, ty in sig["inputs"]]
        output = text.type(sig["output"])
        how = "named"
        if function["header"]["is_async"]:
            output, how = f"future<{output}>", "async"
        elif sig["output"] and "impl_trait" in sig["output"]:
            how = "impl"
            simple = re.fullmatch(r"impl core::future::future::Future<Output = (.*)>(?: \+ .*)?", output)
            output = f"future<{simple.group(1)}>" if simple else output
        elif not output.startswith("future<"):
            how = ""
        kinds = [parameter for parameter in function["generics"]["params"] if "lifetime" not in parameter["kind"]]
        turbofish = sum(not is_synthetic(parameter) for parameter in kinds)
        shown = f"{qualifiers(function['header'])}fn({', '.join(inputs)}) -> {output}"
        return shown + (f" with {turbofish} generics" if turbofish else ""), how, text.bounds(function["generics"])


def positional(args):
    found = ((args or {}).get("angle_bracketed") or {"args": []})["args"]
    return [argument["type"] for argument in found if isinstance(argument, dict) and "type" in argument]


def turned(trait, ty):
    """`Trait for Type`. Who has `From` has `Into`: both are written as the first."""
    into = re.fullmatch(r"core::convert::(Try)?Into<(.*)>", trait)
    return f"core::convert::{into[1] or ''}From<{ty}> for {into[2]}" if into else f"{trait} for {ty}"


def is_synthetic(parameter):
    return bool((parameter["kind"].get("type") or {}).get("is_synthetic"))


def qualifiers(header):
    abi = header.get("abi", "Rust")
    words = ["unsafe "] if header["is_unsafe"] else []
    return "".join(words + ([f"extern {abi} "] if abi != "Rust" else []))
