// SPDX-License-Identifier: Apache-2.0
// Binds binning and prediction. Every argument comes as a plain object and is cast here, without conversion,
// so that the error of a wrong dtype starts with the argument's name like every other one.
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "binning.hpp"
#include "border.hpp"
#include "predict.hpp"

namespace tada {

namespace {

[[noreturn]] void fail(const char* name, const std::string& what) {
  throw nb::value_error((std::string(name) + ": " + what).c_str());
}

template <class T>
T cast(nb::handle object, const char* name, const char* what) {
  T result;
  if (!nb::try_cast(object, result, /*convert=*/false))
    throw nb::type_error((std::string(name) + ": must be " + what).c_str());
  return result;
}

template <class T>
Array<const T, 1> vector(nb::handle object, const char* name, const char* dtype) {
  return cast<Array<const T, 1>>(object, name, (std::string("a contiguous 1-D array of ") + dtype).c_str());
}

template <class T>
Array<const T, 1> vector(nb::handle object, const char* name, const char* dtype, std::size_t size) {
  auto array = vector<T>(object, name, dtype);
  if (array.size() != size)
    fail(name, "has " + std::to_string(array.size()) + " entries, expected " + std::to_string(size));
  return array;
}

std::size_t whole(nb::handle object, const char* name, std::int64_t low, std::int64_t high) {
  const auto value = cast<std::int64_t>(object, name, "an int");
  if (value < low || value > high)
    fail(name, "must be in " + std::to_string(low) + ".." + std::to_string(high) + ", got " +
                   std::to_string(value));
  return static_cast<std::size_t>(value);
}

Pool make_pool(nb::handle n_threads) { return Pool(whole(n_threads, "n_threads", 1, 1024)); }

// ---- X: float32 or float64, any strides ---------------------------------------------------------

template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

struct AnyTable {  // keeps the array alive
  std::variant<Table<double>, Table<float>> array;

  explicit AnyTable(nb::handle object) {
    Table<double> doubles;
    if (nb::try_cast(object, doubles, false)) {
      check(doubles);
      array = std::move(doubles);
    } else {
      auto floats = cast<Table<float>>(object, "X", "a 2-D array of float32 or float64");
      check(floats);
      array = std::move(floats);
    }
  }

  std::size_t shape(std::size_t axis) const {
    return std::visit([&](const auto& table) { return table.shape(axis); }, array);
  }

  // f(Matrix<T>): one body for both dtypes.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(
        [&](const auto& table) {
          using T = std::remove_const_t<std::remove_pointer_t<decltype(table.data())>>;
          return f(Matrix<T>{table.data(), table.shape(0), table.shape(1), table.stride(0), table.stride(1)});
        },
        array);
  }

 private:
  template <class T>
  static void check(const Table<T>& table) {
    if (reinterpret_cast<std::uintptr_t>(table.data()) % alignof(T) != 0)
      fail("X", "its memory is not aligned");
    if (table.shape(0) >= std::numeric_limits<std::uint32_t>::max()) fail("X", "has 2^32 rows or more");
    if (table.shape(1) >= std::numeric_limits<std::uint32_t>::max()) fail("X", "has 2^32 columns or more");
  }
};

// ---- results ------------------------------------------------------------------------------------

template <class T>
nb::object to_numpy(std::vector<T> values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

template <class T>
nb::object to_numpy(std::unique_ptr<T[]> values, std::size_t rows, std::size_t columns) {
  T* data = values.get();
  nb::capsule owner(values.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(data, {rows, columns}, owner));
}

// ---- binning ------------------------------------------------------------------------------------

nb::object fit_bins_bound(nb::object X_, nb::object is_categorical_, nb::object n_levels_,
                          nb::object max_bins_, nb::object multiplicity_, nb::object n_threads_) {
  const AnyTable X(X_);
  const std::size_t n_rows = X.shape(0), n_columns = X.shape(1);
  const auto is_categorical = vector<bool>(is_categorical_, "is_categorical", "bool", n_columns);
  const auto n_levels = vector<std::int32_t>(n_levels_, "n_levels", "int32", n_columns);
  const std::size_t max_bins = whole(max_bins_, "max_bins", 2, 65535);
  for (std::size_t c = 0; c < n_columns; ++c)
    if (view(n_levels)[c] < 0) fail("n_levels", "must be >= 0, column " + std::to_string(c));
  Array<const double, 1> multiplicity;
  View<const double> weights;
  if (!multiplicity_.is_none()) {
    multiplicity = vector<double>(multiplicity_, "multiplicity", "float64", n_rows);
    weights = view(multiplicity);
    for (std::size_t i = 0; i < n_rows; ++i)
      if (!(weights[i] >= 0 && std::isfinite(weights[i])))
        fail("multiplicity", "must be finite and >= 0, row " + std::to_string(i));
  }
  Pool pool = make_pool(n_threads_);
  Bins bins;
  {
    nb::gil_scoped_release released;
    bins = X.visit([&](const auto& matrix) {
      return fit_bins(matrix, view(is_categorical), view(n_levels), max_bins, weights, pool);
    });
  }
  return nb::make_tuple(to_numpy(std::move(bins.n_bins)), to_numpy(std::move(bins.edges)),
                        to_numpy(std::move(bins.edge_start)), to_numpy(std::move(bins.level_bin)),
                        to_numpy(std::move(bins.level_start)));
}

void check_start(View<const std::int64_t> start, std::size_t n, const char* name) {
  bool good = start[0] == 0 && start[start.size - 1] == static_cast<std::int64_t>(n);
  for (std::size_t i = 1; i < start.size; ++i) good = good && start[i] >= start[i - 1];
  if (!good) fail(name, "must rise from 0 to " + std::to_string(n));
}

void check_bins(const BinsView& bins, std::int32_t most) {
  check_start(bins.edge_start, bins.edges.size, "edge_start");
  check_start(bins.level_start, bins.level_bin.size, "level_start");
  for (std::size_t c = 0; c < bins.n_bins.size; ++c) {
    const std::string column = ", column " + std::to_string(c);
    if (bins.n_bins[c] < 1 || bins.n_bins[c] > most)
      fail("n_bins", "must be in 1.." + std::to_string(most) + " for this dtype of out" + column);
    const std::int64_t n_edges = bins.edge_start[c + 1] - bins.edge_start[c];
    if (n_edges != (bins.is_categorical[c] ? 0 : bins.n_bins[c]))
      fail("edge_start", "a numeric column has n_bins edges, a categorical one none" + column);
    for (auto i = static_cast<std::size_t>(bins.edge_start[c]) + 1;
         i < static_cast<std::size_t>(bins.edge_start[c + 1]); ++i)
      if (!(bins.edges[i - 1] < bins.edges[i])) fail("edges", "must rise" + column);
    for (auto i = static_cast<std::size_t>(bins.level_start[c]);
         i < static_cast<std::size_t>(bins.level_start[c + 1]); ++i)
      if (bins.level_bin[i] < 0 || bins.level_bin[i] >= bins.n_bins[c])
        fail("level_bin", "must be in 0..n_bins-1" + column);
  }
}

template <class Code>
void encode_into(const AnyTable& X, const BinsView& bins, Array<Code, 2> out, Pool& pool) {
  if (out.shape(0) != X.shape(1) || out.shape(1) != X.shape(0))
    fail("out", "its shape must be (columns, rows)");
  check_bins(bins, std::numeric_limits<Code>::max());
  nb::gil_scoped_release released;
  X.visit([&](const auto& matrix) { encode(matrix, bins, View<Code>{out.data(), out.size()}, pool); });
}

void encode_bound(nb::object X_, nb::object n_bins_, nb::object edges_, nb::object edge_start_,
                  nb::object is_categorical_, nb::object level_bin_, nb::object level_start_, nb::object out_,
                  nb::object n_threads_) {
  const AnyTable X(X_);
  const std::size_t n_columns = X.shape(1);
  const auto n_bins = vector<std::int32_t>(n_bins_, "n_bins", "int32", n_columns);
  const auto edges = vector<double>(edges_, "edges", "float64");
  const auto edge_start = vector<std::int64_t>(edge_start_, "edge_start", "int64", n_columns + 1);
  const auto is_categorical = vector<bool>(is_categorical_, "is_categorical", "bool", n_columns);
  const auto level_bin = vector<std::int32_t>(level_bin_, "level_bin", "int32");
  const auto level_start = vector<std::int64_t>(level_start_, "level_start", "int64", n_columns + 1);
  const BinsView bins{view(n_bins),         view(edges),     view(edge_start),
                      view(is_categorical), view(level_bin), view(level_start)};
  Pool pool = make_pool(n_threads_);
  Array<std::uint8_t, 2> bytes;
  if (nb::try_cast(out_, bytes, false)) return encode_into<std::uint8_t>(X, bins, bytes, pool);
  encode_into<std::uint16_t>(
      X, bins,
      cast<Array<std::uint16_t, 2>>(out_, "out", "a writable C-contiguous 2-D array of uint8 or uint16"),
      pool);
}

// ---- prediction ---------------------------------------------------------------------------------

void init_forest(Forest* self, nb::object n_columns_, nb::object tree_start_, nb::object feature_,
                 nb::object threshold_, nb::object left_, nb::object right_, nb::object value_,
                 nb::object missing_left_, nb::object is_categorical_, nb::object categories_,
                 nb::object category_start_) {
  const std::size_t n_columns = whole(n_columns_, "n_columns", 0, std::numeric_limits<std::int32_t>::max());
  const auto tree_start = vector<std::int64_t>(tree_start_, "tree_start", "int64");
  const auto feature = vector<std::int32_t>(feature_, "feature", "int32");
  const auto threshold = vector<double>(threshold_, "threshold", "float64");
  const auto left = vector<std::int32_t>(left_, "left", "int32");
  const auto right = vector<std::int32_t>(right_, "right", "int32");
  const auto value = vector<double>(value_, "value", "float64");
  const auto missing_left = vector<bool>(missing_left_, "missing_left", "bool");
  const auto is_categorical = vector<bool>(is_categorical_, "is_categorical", "bool");
  // A byte that is neither 0 nor 1, as a damaged file may hold, is no bool: reading it as one is undefined.
  for (const auto* flags : {&missing_left, &is_categorical}) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(flags->data());
    for (std::size_t i = 0; i < flags->size(); ++i)
      require(bytes[i] <= 1, "missing_left, is_categorical: entries must be 0 or 1");
  }
  const auto categories = vector<std::int32_t>(categories_, "categories", "int32");
  const auto category_start = vector<std::int64_t>(category_start_, "category_start", "int64");
  // std::invalid_argument of the constructor becomes ValueError.
  new (self) Forest(n_columns,
                    {view(tree_start), view(feature), view(threshold), view(left), view(right), view(value),
                     view(missing_left), view(is_categorical), view(categories), view(category_start)});
}

void check_width(const Forest& forest, const AnyTable& X) {
  if (X.shape(1) != forest.n_columns())
    fail("X",
         "has " + std::to_string(X.shape(1)) + " columns, the forest " + std::to_string(forest.n_columns()));
}

// The arguments of decision and staged.
struct Scoring {
  AnyTable X;
  Array<const double, 1> alpha;
  double clip;
  Pool pool;

  Scoring(const Forest& forest, nb::handle X_, nb::handle alpha_, nb::handle clip_, nb::handle n_threads_)
      : X(X_),
        alpha(vector<double>(alpha_, "alpha", "float64", forest.n_trees())),
        clip(cast<double>(clip_, "clip", "a float")),
        pool(whole(n_threads_, "n_threads", 1, 1024)) {
    check_width(forest, X);
    for (std::size_t j = 0; j < alpha.size(); ++j)
      if (!std::isfinite(view(alpha)[j])) fail("alpha", "must be finite, tree " + std::to_string(j));
    if (!(clip > 0)) fail("clip", "must be > 0 (inf: none)");
  }
};

nb::object decision(const Forest& forest, nb::object X_, nb::object alpha_, nb::object clip_,
                    nb::object n_threads_) {
  Scoring in(forest, X_, alpha_, clip_, n_threads_);
  std::vector<double> out(in.X.shape(0));
  {
    nb::gil_scoped_release released;
    in.X.visit([&](const auto& matrix) {
      forest.decision(matrix, view(in.alpha), in.clip, View<double>{out.data(), out.size()}, in.pool);
    });
  }
  return to_numpy(std::move(out));
}

// For a single row the GIL is kept: to take it again may take longer than the walk.
double score(const Forest& forest, nb::object row_, nb::object alpha_, nb::object clip_) {
  const auto row = cast<Array<const double, 1>>(row_, "row", "1-D, of float64");
  if (row.size() != forest.n_columns())
    fail("row", "has " + std::to_string(row.size()) + " values, the model " +
                    std::to_string(forest.n_columns()) + " columns");
  for (std::size_t c = 0; c < row.size(); ++c)
    if (std::isinf(row.data()[c]))
      fail("row",
           "holds infinity in column " + std::to_string(c) + "; replace it with a finite number or NaN");
  const auto alpha = vector<double>(alpha_, "alpha", "float64", forest.n_trees());
  Pool pool(1);
  double result = 0.0;
  forest.decision(Matrix<double>{row.data(), 1, row.size(), 0, 1}, view(alpha),
                  cast<double>(clip_, "clip", "a float"), View<double>{&result, 1}, pool);
  return result;
}

nb::object staged(const Forest& forest, nb::object X_, nb::object alpha_, nb::object clip_,
                  nb::object n_threads_) {
  Scoring in(forest, X_, alpha_, clip_, n_threads_);
  const std::size_t size = forest.n_trees() * in.X.shape(0);
  std::unique_ptr<double[]> out(new double[size]);
  {
    nb::gil_scoped_release released;
    in.X.visit([&](const auto& matrix) {
      forest.staged(matrix, view(in.alpha), in.clip, View<double>{out.get(), size}, in.pool);
    });
  }
  return to_numpy(std::move(out), forest.n_trees(), in.X.shape(0));
}

nb::object apply(const Forest& forest, nb::object X_, nb::object n_threads_) {
  const AnyTable X(X_);
  check_width(forest, X);
  Pool pool = make_pool(n_threads_);
  const std::size_t size = forest.n_trees() * X.shape(0);
  std::unique_ptr<std::int32_t[]> out(new std::int32_t[size]);
  {
    nb::gil_scoped_release released;
    X.visit([&](const auto& matrix) { forest.apply(matrix, View<std::int32_t>{out.get(), size}, pool); });
  }
  return to_numpy(std::move(out), X.shape(0), forest.n_trees());
}

}  // namespace

void bind_data(nb::module_& m) {
  // None is let in, to be refused by name.
  const auto arg = [](const char* name) { return nb::arg(name).none(); };
  m.def("fit_bins", &fit_bins_bound, arg("X"), arg("is_categorical"), arg("n_levels"), arg("max_bins"),
        arg("multiplicity"), arg("n_threads"),
        "-> (n_bins, edges, edge_start, level_bin, level_start) ; see binning.Bins.");
  m.def("encode", &encode_bound, arg("X"), arg("n_bins"), arg("edges"), arg("edge_start"),
        arg("is_categorical"), arg("level_bin"), arg("level_start"), arg("out"), arg("n_threads"),
        "Write the code of every value to out (columns, rows).");
  nb::class_<Forest>(m, "Forest", "Trees on raw values, one after the other ; see tree.Tree.")
      .def("__init__", &init_forest, arg("n_columns"), arg("tree_start"), arg("feature"), arg("threshold"),
           arg("left"), arg("right"), arg("value"), arg("missing_left"), arg("is_categorical"),
           arg("categories"), arg("category_start"))
      .def("decision", &decision, arg("X"), arg("alpha"), arg("clip"), arg("n_threads"), "Scores, (rows,).")
      .def("score", &score, arg("row"), arg("alpha"), arg("clip"),
           "The score of one row of finite values or NaN.")
      .def("staged", &staged, arg("X"), arg("alpha"), arg("clip"), arg("n_threads"),
           "Scores after each tree, (trees, rows).")
      .def("apply", &apply, arg("X"), arg("n_threads"), "The leaf of each row in each tree, (rows, trees).")
      .def_prop_ro("n_columns", &Forest::n_columns)
      .def_prop_ro("n_trees", &Forest::n_trees);
}

}  // namespace tada
