// SPDX-License-Identifier: Apache-2.0
// Bindings of Shard and Grower: checks, then plain memory.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <memory>
#include <optional>

#include "bind_shard.hpp"
#include "blocks.hpp"
#include "grower.hpp"

namespace tada {
namespace {

using namespace nb::literals;

Layout layout_of(Array<const std::int64_t, 1> n_codes, Array<const bool, 1> is_categorical,
                 std::size_t most) {
  require(n_codes.size() > 0, "n_codes: needs one column at least");
  require(is_categorical.size() == n_codes.size(), "is_categorical: must be as long as n_codes");
  Layout layout;
  layout.start.push_back(0);
  for (std::size_t c = 0; c < n_codes.size(); ++c) {
    require(n_codes.data()[c] >= 2 && static_cast<std::size_t>(n_codes.data()[c]) <= most,
            "n_codes: each column has a value and a missing code at least, and no more than its type holds");
    layout.start.push_back(layout.start.back() + static_cast<std::size_t>(n_codes.data()[c]));
    layout.is_categorical.push_back(is_categorical.data()[c]);
  }
  return layout;
}

void check_temperature(double t) { require(t < 2.0 && std::isfinite(t), "t: must be finite and below 2"); }

template <class Code>
std::unique_ptr<Shard> make_shard(Array<const Code, 2> codes, Array<const std::int64_t, 1> n_codes,
                                  Array<const bool, 1> is_categorical, Array<const bool, 1> positive,
                                  std::optional<Array<const double, 1>> multiplicity,
                                  std::optional<Array<const std::uint64_t, 1>> count, bool whole, double t,
                                  std::size_t n_threads, bool merges) {
  const std::size_t n_columns = codes.shape(0), n_rows = codes.shape(1);
  Layout layout = layout_of(n_codes, is_categorical, std::size_t{std::numeric_limits<Code>::max()} + 1);
  require(layout.n_columns() == n_columns, "codes: needs a row for each entry of n_codes");
  require(positive.size() == n_rows, "positive: must be as long as a column of codes");
  require(n_rows < 0xffffffffULL, "codes: a shard holds fewer than 2^32 - 1 rows");
  check_temperature(t);
  require(multiplicity.has_value() == count.has_value(), "count: comes with multiplicity");
  const View<const double> m = multiplicity ? view(*multiplicity) : View<const double>{};
  const View<const std::uint64_t> k = count ? view(*count) : View<const std::uint64_t>{};
  if (multiplicity)
    require(m.size == n_rows && k.size == n_rows, "multiplicity: must be as long as positive");
  nb::gil_scoped_release released;
  for (std::size_t i = 0; i < m.size; ++i)
    require(m[i] >= 0.0 && std::isfinite(m[i]) && (!whole || (m[i] <= 0x1p31 && std::floor(m[i]) == m[i])),
            "multiplicity: must be finite, >= 0, and whole and at most 2^31 if it is said to be whole");
  for (std::size_t i = 0; whole && i < m.size; ++i)
    require(k[i] == static_cast<std::uint64_t>(m[i]), "count: must be the multiplicity where that is whole");
  for (std::size_t c = 0; c < n_columns; ++c) {
    Code most = 0;
    for (std::size_t i = 0; i < n_rows; ++i) most = std::max(most, codes.data()[c * n_rows + i]);
    require(most < layout.n_codes(c), "codes: outside n_codes");
  }
  const View<const std::uint8_t> y{reinterpret_cast<const std::uint8_t*>(positive.data()), n_rows};
  return std::make_unique<Shard>(View<const Code>{codes.data(), n_columns * n_rows}, std::move(layout), y, m,
                                 k, whole, merges, t, n_threads);
}

void check_exponent(int exponent) {
  require(exponent >= -1020 && exponent <= 1020, "exponent: must be within -1020..1020");
}

nb::object histogram_array(const Histogram& h) {
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < h.size(); ++i) {
    const Cell cell = h[i];
    out.insert(out.end(), {cell.weight, cell.count});
  }
  return to_numpy(std::move(out), {2, h.size() / 2, 2});
}

Histogram histogram_from(const Grower& grower, Array<const std::uint64_t, 3> array) {
  require(array.shape(0) == 2 && array.shape(1) == grower.layout().size() && array.shape(2) == 2,
          "histogram: shape must be (2, codes of all columns, 2)");
  return {std::vector<std::uint64_t>(array.data(), array.data() + array.size()), false};
}

nb::object shard_histogram(Shard& shard, std::int32_t node) {
  check_node(shard, node, "node: no such node in this shard");
  Histogram h;
  {
    nb::gil_scoped_release released;
    h.shape(2 * shard.layout().size(), shard.packs());
    shard.histogram(node, h);
  }
  return histogram_array(h);
}

void shard_split(Shard& shard, std::int32_t node, std::int32_t left, std::int32_t right, std::size_t column,
                 Array<const std::uint8_t, 1> goes_left) {
  check_node(shard, node, "node: no such node in this shard");
  require(!shard.node(node).inner, "node: was split already");
  require(left == static_cast<std::int64_t>(shard.n_nodes()) && right == left + 1,
          "left, right: must be the next two nodes");
  require(column < shard.layout().n_columns(), "column: no such column");
  require(goes_left.size() == shard.layout().n_codes(column),
          "goes_left: needs an entry a code of the column");
  for (std::size_t i = 0; i < goes_left.size(); ++i)
    require(goes_left.data()[i] <= 1, "goes_left: entries are 0 and 1");
  nb::gil_scoped_release released;
  shard.split(node, left, right, column, view(goes_left));
}

void put(std::vector<std::int64_t>& out, const ExactSum& sum) {
  out.push_back(sum.high);
  out.push_back(sum.low);
}

using Exponents = Array<const std::int32_t, 2>;

View<const std::int32_t> checked_exponents(const Exponents& exponent, std::size_t n_leaves) {
  require(exponent.shape(0) == n_leaves && exponent.shape(1) == 2, "exponent: shape must be (leaves, 2)");
  for (std::size_t i = 0; i < exponent.size(); ++i) check_exponent(exponent.data()[i]);
  return {exponent.data(), exponent.size()};
}

nb::tuple shard_leaf_extremes(Shard& shard, Array<const std::int32_t, 1> leaves) {
  const auto ids = checked_leaves(shard, leaves);
  std::vector<LeafExtremes> found;
  {
    nb::gil_scoped_release released;
    found = shard.leaf_extremes(ids);
  }
  std::vector<std::uint64_t> count;
  std::vector<double> extremes;
  for (const LeafExtremes& x : found) {
    count.insert(count.end(), {x.count, x.off});
    extremes.insert(extremes.end(), {x.least, x.most});
  }
  const std::vector<std::size_t> shape{leaves.size(), 2, 2};
  return nb::make_tuple(to_numpy(std::move(count), shape), to_numpy(std::move(extremes), shape));
}

nb::object shard_leaf_sums(Shard& shard, Array<const std::int32_t, 1> leaves, Exponents exponent) {
  const auto ids = gathered_leaves(shard, leaves);
  const auto exponents = checked_exponents(exponent, ids.size);
  std::vector<ExactSum> sums;
  {
    nb::gil_scoped_release released;
    sums = shard.leaf_sums(ids, exponents);
  }
  std::vector<std::int64_t> out;
  for (const ExactSum& sum : sums) put(out, sum);
  return to_numpy(std::move(out), {leaves.size(), 2, 2});
}

nb::object shard_trial(Shard& shard, Array<const std::int32_t, 1> leaves, Array<const double, 1> value,
                       Exponents exponent, Exponents slope_exponent, Array<const double, 2> slope_cap) {
  const auto ids = gathered_leaves(shard, leaves);
  const auto values = checked_values(value, ids.size);
  const auto exponents = checked_exponents(exponent, ids.size);
  const auto slope_exponents = checked_exponents(slope_exponent, ids.size);
  require(slope_cap.shape(0) == ids.size && slope_cap.shape(1) == 2, "slope_cap: shape must be (leaves, 2)");
  std::vector<TrialSums> sums;
  {
    nb::gil_scoped_release released;
    sums = shard.trial(ids, values, exponents, slope_exponents, {slope_cap.data(), slope_cap.size()});
  }
  std::vector<std::int64_t> out;
  for (const TrialSums& s : sums) {
    put(out, s.weight);
    put(out, s.slope);
  }
  return to_numpy(std::move(out), {leaves.size(), 2, 2, 2});
}

nb::tuple shard_step(Shard& shard, Array<const std::int32_t, 1> leaves, Array<const double, 1> value,
                     double alpha, double clip, int exponent, int loss_exponent) {
  check_exponent(exponent);
  check_exponent(loss_exponent);
  const auto ids = all_leaves(shard, leaves);
  const auto values = checked_values(value, ids.size, alpha);
  require(clip > 0.0, "clip: must be positive");
  Moments m;
  {
    nb::gil_scoped_release released;
    m = shard.step(ids, values, alpha, clip, exponent, loss_exponent);
  }
  std::vector<std::int64_t> sums;
  put(sums, m.loss);
  put(sums, m.weight);
  for (auto x : {m.off, m.wrong, m.n_off, m.n_capped}) sums.push_back(static_cast<std::int64_t>(x));
  return nb::make_tuple(to_numpy(std::move(sums)),
                        to_numpy(std::vector<double>{m.least, m.most, m.most_weight, m.most_fixed}));
}

nb::object next_request(Grower& grower) {
  require(grower.awaited() < 0, "next: the last request awaits its histogram, supply it first");
  Request r;
  if (!grower.next(r)) return nb::none();
  return nb::make_tuple(r.node, r.left, r.right, r.split.column, to_numpy(std::move(r.goes_left)), r.build);
}

using Nodes = std::vector<GrownNode>;

// A grown tree apart from its grower: a fit keeps one a round and lays out all of them at once.
struct GrownTree {
  Nodes nodes;
};

// Trees end to end: feature, last code that goes left, left, right, missing_left, codes that go right with
// their offsets, multiplicity, gain; an entry a node.
nb::tuple arrays_of(const std::vector<const Nodes*>& trees) {
  std::vector<std::int32_t> feature, left, right, right_codes;
  std::vector<std::int64_t> last_left, code_start{0};
  std::vector<std::uint8_t> missing_left;
  std::vector<std::uint64_t> count;
  std::vector<double> gain;
  for (const Nodes* nodes : trees) {
    for (const GrownNode& node : *nodes) {
      const bool leaf = node.left < 0;
      feature.push_back(leaf ? -1 : static_cast<std::int32_t>(node.split.column));
      last_left.push_back(leaf ? 0 : static_cast<std::int64_t>(node.split.last_left));
      left.push_back(node.left);
      right.push_back(node.right);
      missing_left.push_back(!leaf && node.split.missing_left);
      if (!leaf)
        right_codes.insert(right_codes.end(), node.split.right_codes.begin(), node.split.right_codes.end());
      code_start.push_back(static_cast<std::int64_t>(right_codes.size()));
      count.push_back(node.positive.count + node.negative.count);
      gain.push_back(node.gain);
    }
  }
  return nb::make_tuple(
      to_numpy(std::move(feature)), to_numpy(std::move(last_left)), to_numpy(std::move(left)),
      to_numpy(std::move(right)), to_numpy(std::move(missing_left)), to_numpy(std::move(right_codes)),
      to_numpy(std::move(code_start)), to_numpy(std::move(count)), to_numpy(std::move(gain)));
}

nb::tuple arrays_of_list(const nb::list& trees) {
  std::vector<const Nodes*> nodes;
  for (nb::handle tree : trees) nodes.push_back(&nb::cast<const GrownTree&>(tree).nodes);
  return arrays_of(nodes);
}

// The tree with other multiplicities in its leaves.
GrownTree recounted(const GrownTree& tree, Array<const std::int32_t, 1> leaves,
                    Array<const std::uint64_t, 1> count) {
  require(leaves.size() == count.size(), "count: must be as long as leaves");
  GrownTree out = tree;
  for (GrownNode& node : out.nodes) node.positive.count = node.negative.count = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto id = static_cast<std::size_t>(leaves.data()[i]);
    require(id < out.nodes.size() && out.nodes[id].left < 0, "leaves: no such leaf in this tree");
    out.nodes[id].positive.count = count.data()[i];
  }
  for (std::size_t i = out.nodes.size(); i-- > 0;)  // children come after their parent
    if (out.nodes[i].left >= 0)
      for (auto child : {out.nodes[i].left, out.nodes[i].right})
        out.nodes[i].positive.count += out.nodes[static_cast<std::size_t>(child)].positive.count;
  return out;
}

GrownTree root_of(const GrownTree& tree) {
  require(!tree.nodes.empty(), "tree: has no node");
  GrownTree root{{tree.nodes[0]}};
  root.nodes[0].left = root.nodes[0].right = -1;
  root.nodes[0].gain = 0.0;
  return root;
}

// The conversation of tree.grow with one shard, without leaving C++.
nb::object grow_here(Grower& grower, Shard& shard) {
  require(grower.layout().start == shard.layout().start, "grower: made for other columns than the shard");
  require(shard.n_nodes() == 1, "shard: needs begin_tree before each tree");
  {
    nb::gil_scoped_release released;
    Histogram h = grower.spare(shard.packs());
    shard.histogram(0, h);
    grower.begin(std::move(h), shard.pool());
    for (Request r; grower.next(r);) {
      shard.split(r.node, r.left, r.right, r.split.column, {r.goes_left.data(), r.goes_left.size()});
      if (r.build < 0) continue;
      Histogram built = grower.spare(shard.packs());
      shard.histogram(r.build, built);
      grower.supply(std::move(built), shard.pool());
    }
  }
  return to_numpy(grower.leaves());
}

std::unique_ptr<Grower> make_grower(Array<const std::int64_t, 1> n_codes, Array<const bool, 1> is_categorical,
                                    double t, std::size_t max_leaves, std::size_t max_depth, bool heaviest,
                                    double min_leaf_mass, std::uint64_t min_count, bool pure_allowed,
                                    double smoothing) {
  check_temperature(t);
  require(min_leaf_mass >= 0.0 && min_leaf_mass <= 1.0, "min_leaf_mass: must be within 0..1");
  require(smoothing >= 0.0 && std::isfinite(smoothing), "smoothing: must be finite and at least 0");
  Policy policy;
  policy.max_leaves = max_leaves;
  policy.max_depth = max_depth;
  policy.heaviest = heaviest;
  policy.min_leaf_mass = min_leaf_mass;
  policy.limits.s = 1.0 - t;
  policy.limits.min_count = std::min<std::uint64_t>(min_count, std::uint64_t{1} << 62);
  policy.limits.pure_allowed = pure_allowed;
  policy.limits.smoothing = smoothing;
  return std::make_unique<Grower>(layout_of(n_codes, is_categorical, 65536), policy);
}

void set_direction(Grower& grower, Array<const std::int8_t, 1> direction) {
  const Layout& layout = grower.layout();
  require(direction.size() == layout.n_columns(), "direction: must be as long as n_codes");
  for (std::size_t c = 0; c < direction.size(); ++c) {
    require(direction.data()[c] >= -1 && direction.data()[c] <= 1, "direction: entries are -1, 0 and 1");
    require(direction.data()[c] == 0 || !layout.is_categorical[c],
            "direction: a categorical column has none");
  }
  grower.set_direction({direction.data(), direction.data() + direction.size()});
}

// Group g is columns[start[g]:start[g + 1]].
void set_groups(Grower& grower, Array<const std::int64_t, 1> start, Array<const std::uint32_t, 1> columns) {
  const auto first = view(start);
  require(
      first.size >= 1 && first[0] == 0 && first[first.size - 1] == static_cast<std::int64_t>(columns.size()),
      "start: must go from 0 to the number of columns");
  for (std::size_t i = 0; i + 1 < first.size; ++i) require(first[i] <= first[i + 1], "start: must not fall");
  for (auto c : view(columns)) require(c < grower.layout().n_columns(), "columns: no such column");
  std::vector<Columns> groups;
  for (std::size_t i = 0; i + 1 < first.size; ++i) {
    groups.emplace_back(columns.data() + first[i], columns.data() + first[i + 1]);
    std::sort(groups.back().begin(), groups.back().end());
  }
  grower.set_groups(std::move(groups));
}

}  // namespace

void bind_core(nb::module_& m) {
  nb::class_<Shard>(m, "Shard")
      .def(nb::new_(&make_shard<std::uint8_t>), "codes"_a.noconvert(), "n_codes"_a.noconvert(),
           "is_categorical"_a.noconvert(), "positive"_a.noconvert(), "multiplicity"_a.noconvert().none(),
           "count"_a.noconvert().none(), "whole"_a, "t"_a, "n_threads"_a, "merges"_a = false)
      .def(nb::new_(&make_shard<std::uint16_t>), "codes"_a.noconvert(), "n_codes"_a.noconvert(),
           "is_categorical"_a.noconvert(), "positive"_a.noconvert(), "multiplicity"_a.noconvert().none(),
           "count"_a.noconvert().none(), "whole"_a, "t"_a, "n_threads"_a, "merges"_a = false)
      .def_prop_ro("n_rows", [](const Shard& s) { return s.order().size(); })
      .def_prop_ro("n_merged", [](const Shard& s) { return s.order().size() - s.n_rows(); })
      .def_prop_ro("n_bundles", &Shard::n_bundles)
      .def_prop_ro("n_positive", &Shard::n_positive)
      .def("order", [](const Shard& s) { return to_numpy(s.order()); })
      .def("log_weights", [](const Shard& s) { return to_numpy(s.log_weights()); })
      .def("scores", [](const Shard& s) { return to_numpy(s.scores()); })
      .def(
          "begin_tree",
          [](Shard& s, int exponent, std::optional<Array<const bool, 1>> drawn) {
            check_exponent(exponent);
            require(std::ldexp(s.most_fixed(), exponent) <= 0x1p31,
                    "exponent: fixed-point weights must stay within 2^31");
            View<const std::uint8_t> rows{};
            if (drawn) {
              require(drawn->size() == s.n_given(), "drawn: must be as long as positive was");
              require(s.draws(), "drawn: rows of this shard have been merged");
              rows = {reinterpret_cast<const std::uint8_t*>(drawn->data()), drawn->size()};
            }
            nb::gil_scoped_release released;
            s.begin_tree(exponent, rows);
          },
          "exponent"_a, "drawn"_a.noconvert().none() = nb::none())
      .def("histogram", &shard_histogram, "node"_a)
      .def("split", &shard_split, "node"_a, "left"_a, "right"_a, "column"_a, "goes_left"_a.noconvert())
      .def("leaf_extremes", &shard_leaf_extremes, "leaves"_a.noconvert())
      .def("leaf_sums", &shard_leaf_sums, "leaves"_a.noconvert(), "exponent"_a.noconvert())
      .def("trial", &shard_trial, "leaves"_a.noconvert(), "value"_a.noconvert(), "exponent"_a.noconvert(),
           "slope_exponent"_a.noconvert(), "slope_cap"_a.noconvert())
      .def("step", &shard_step, "leaves"_a.noconvert(), "value"_a.noconvert(), "alpha"_a, "clip"_a,
           "exponent"_a, "loss_exponent"_a);
  nb::class_<Grower>(m, "Grower")
      .def(nb::new_(&make_grower), "n_codes"_a.noconvert(), "is_categorical"_a.noconvert(), "t"_a,
           "max_leaves"_a, "max_depth"_a, "heaviest"_a, "min_leaf_mass"_a, "min_count"_a, "pure_allowed"_a,
           "smoothing"_a = 0.0)
      .def("set_direction", &set_direction, "direction"_a.noconvert())
      .def("set_groups", &set_groups, "start"_a.noconvert(), "columns"_a.noconvert())
      .def(
          "set_draw",
          [](Grower& g, double share, std::uint64_t key) {
            require(share > 0.0 && share <= 1.0, "share: must be above 0 and at most 1");
            g.set_draw(share, key);
          },
          "share"_a, "key"_a)
      .def(
          "begin",
          [](Grower& g, Array<const std::uint64_t, 3> h) {
            Pool alone(1);
            g.begin(histogram_from(g, h), alone);
          },
          "root"_a.noconvert())
      .def("next", &next_request)
      .def(
          "supply",
          [](Grower& g, Array<const std::uint64_t, 3> h) {
            require(g.awaited() >= 0, "supply: no request awaits a histogram");
            Pool alone(1);
            g.supply(histogram_from(g, h), alone);
          },
          "built"_a.noconvert())
      .def("leaves", [](const Grower& g) { return to_numpy(g.leaves()); })
      .def("tree", [](const Grower& g) { return GrownTree{g.nodes()}; });
  nb::class_<GrownTree>(m, "GrownTree")
      .def("__len__", [](const GrownTree& tree) { return tree.nodes.size(); })
      .def("arrays", [](const GrownTree& tree) { return arrays_of({&tree.nodes}); })
      .def("recounted", &recounted, "leaves"_a.noconvert(), "count"_a.noconvert())
      .def("root", &root_of);
  m.def("lay_out", &arrays_of_list, "trees"_a);
  m.def("grow", &grow_here, "grower"_a, "shard"_a);
  m.def("stepped", &stepped, "l"_a, "c"_a, "s"_a);
  m.def("exact_exponent", &exact_exponent, "bound"_a);
  m.def(
      "exact_exponents",
      [](Array<const double, 2> bound) {
        std::vector<std::int32_t> out;
        for (std::size_t i = 0; i < bound.size(); ++i) out.push_back(exact_exponent(bound.data()[i]));
        return to_numpy(std::move(out), {bound.shape(0), bound.shape(1)});
      },
      "bound"_a.noconvert());
}

}  // namespace tada
