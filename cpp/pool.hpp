// SPDX-License-Identifier: Apache-2.0
// Threads for one piece of work at a time: the caller works too, chunks are handed out by an atomic counter.
//
// A pool lives as long as the object that owns it (a Shard during a fit, a call of predict). In a child of a
// fork no threads are left: there the pool forgets them, and starts others when it has work. Idle workers
// spin briefly, then sleep: spinning barriers cost 8-20 times when another process takes the core. Where the
// workers are waited for longer than they help, the caller goes on alone for a while. Which thread runs which
// chunk never shows in a result, because every sum in the core is an integer.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace tada {

using Clock = std::chrono::steady_clock;

// Whether a crew is worth its while: what its workers did would have taken the caller some time, and the
// caller waits for a worker that another process keeps from its core in the middle of a chunk.
class Balance {
 public:
  bool alone(Clock::time_point now) const { return now < alone_until_; }
  void note(Clock::duration saved, Clock::duration waited, Clock::time_point now) {
    credit_ = std::min<Clock::duration>(credit_ + saved - waited, kMostCredit);
    if (credit_ >= Clock::duration::zero()) return;
    alone_until_ = now + std::min<Clock::duration>(kTimes * waited, kLongest);
    credit_ = Clock::duration::zero();
  }

 private:
  static constexpr std::chrono::milliseconds kMostCredit{1}, kLongest{500};
  static constexpr int kTimes = 30;  // as long as was waited: trying again and again costs 1 / kTimes
  Clock::duration credit_{0};
  Clock::time_point alone_until_{};
};

// The threads of a pool, and the piece of work that they are at.
class Crew {
 public:
  explicit Crew(std::size_t n_workers) {
    threads_.reserve(n_workers);
    try {
      for (std::size_t i = 0; i < n_workers; ++i) threads_.emplace_back([this] { loop(); });
    } catch (const std::exception&) {  // no more threads or memory to be had: the work only takes longer
    }
  }

  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  ~Crew() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_.store(true, std::memory_order_relaxed);
      state_.fetch_add(kPiece, std::memory_order_release);
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  // A worker joins while the piece is open and is waited for only if it did: one that the system wakes too
  // late, because another process has its core, costs nothing.
  template <class F>
  void run(std::size_t n_chunks, F& f, Balance& balance) {
    context_ = &f;
    call_ = [](void* context, std::size_t chunk) { (*static_cast<F*>(context))(chunk); };
    n_chunks_ = n_chunks;
    next_.store(0, std::memory_order_relaxed);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      state_.fetch_add(kPiece + kOpen, std::memory_order_release);
    }
    wake_.notify_all();
    const Clock::time_point start = Clock::now();
    const std::size_t n_own = work();
    const Clock::time_point end = Clock::now();
    state_.fetch_sub(kOpen, std::memory_order_relaxed);
    for (std::size_t spin = 0; (state_.load(std::memory_order_acquire) & kInside) != 0; ++spin)
      if (spin > kSpins) std::this_thread::yield();
    const Clock::time_point now = Clock::now();
    const auto per_chunk = (end - start) / static_cast<Clock::rep>(std::max<std::size_t>(n_own, 1));
    balance.note(per_chunk * static_cast<Clock::rep>(n_chunks - n_own), now - end, now);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  static constexpr std::size_t kSpins = 2000;  // about 5 us: shorter than a sleep and wake-up
  // state_: workers inside (low 16 bits), whether the piece is open to more, number of the piece.
  static constexpr std::uint64_t kInside = 0xffff, kOpen = 0x10000, kPiece = 0x20000;

  // Returns the number of chunks that this thread did.
  std::size_t work() {
    std::size_t n = 0;
    for (std::size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < n_chunks_; ++n) {
      try {
        call_(context_, i);
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex_);
        error_ = std::current_exception();
      }
    }
    return n;
  }

  void loop() {
    std::uint64_t seen = 0;
    auto is_new = [&](std::uint64_t state) { return state / kPiece != seen; };
    for (;;) {
      for (std::size_t spin = 0; spin < kSpins && !is_new(state_.load(std::memory_order_acquire)); ++spin) {
      }
      std::uint64_t state = state_.load(std::memory_order_acquire);
      if (!is_new(state)) {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return is_new(state = state_.load(std::memory_order_acquire)); });
      }
      if (stop_.load(std::memory_order_relaxed)) return;
      while ((state & kOpen) != 0 &&
             !state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) {
      }
      seen = state / kPiece;
      if ((state & kOpen) == 0) continue;  // over already
      work();
      state_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint64_t> state_{0};
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  void* context_ = nullptr;
  void (*call_)(void*, std::size_t) = nullptr;
  std::size_t n_chunks_ = 0;
  std::exception_ptr error_;          // what a chunk threw, for the caller of run
  std::vector<std::thread> threads_;  // last: they start with the rest in place
};

class Pool {
 public:
  explicit Pool(std::size_t n_threads)
      : n_threads_(n_threads < 1      ? 1
                   : n_threads > 4096 ? 4096
                                      : n_threads) {}

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  ~Pool() { forget_if_forked(); }

  std::size_t n_threads() const { return n_threads_; }

  // Calls f(chunk) for chunk = 0 .. n_chunks-1, each once; returns when all are done, or throws what
  // one of them threw (no memory, say), when no thread is at any.
  template <class F>
  void run(std::size_t n_chunks, F&& f) {
    if (n_threads_ == 1 || n_chunks <= 1 || balance_.alone(Clock::now())) {
      for (std::size_t i = 0; i < n_chunks; ++i) f(i);
      return;
    }
    forget_if_forked();
    if (!crew_) {
      crew_ = std::make_unique<Crew>(n_threads_ - 1);
      process_ = process();
    }
    crew_->run(n_chunks, f, balance_);
  }

 private:
  static long process() {
#if defined(__unix__) || defined(__APPLE__)
    return static_cast<long>(getpid());
#else
    return 0;
#endif
  }

  // Leaks the crew: its threads cannot be joined, nor what they wait for be destroyed, where they do not
  // exist.
  void forget_if_forked() {
    if (crew_ && process_ != process()) static_cast<void>(crew_.release());
  }

  std::size_t n_threads_;
  std::unique_ptr<Crew> crew_;
  Balance balance_;
  long process_ = 0;
};

}  // namespace tada
