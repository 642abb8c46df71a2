// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// GPU memory that the program made and the library exports; what memory is; when it goes; imports of the
// other kind, and those given back behind an event. No step passes before another process has compared bytes.
#include "steps.h"

namespace hb::selftest {
namespace {

constexpr std::uint64_t kChunk = 2u << 20;

std::string text_of(std::uint64_t number) { return std::to_string(number); }

std::string said(const Message& answer) { return answer.text("message"); }

void must_be(const std::string& what, std::uint64_t got, std::uint64_t wanted) {
  if (got != wanted) throw Failed(what + " is " + text_of(got) + ", not " + text_of(wanted));
}

// Memory of one process and its bytes in another.
class Pair {
 public:
  explicit Pair(const Lab& lab)
      : exporter(lab.start()), importer(lab.start()), gpu_(std::to_string(lab.device())) {}

  void make(const std::string& how) {
    exporter.ok("make", {{"how", how}, {"gpu", gpu_}});
    if (how != "host") exporter.ok("fill", {{"program", "1"}, {"seed", "1"}});
  }
  Message export_by(Message how) {
    how.set("program", "1");
    how.set("name", name);
    return exporter.call("export", how);
  }
  Message own() {
    exporter.ok("alloc", {{"gpu", gpu_}, {"bytes", text_of(kChunk)}});
    exporter.ok("fill", {{"mem", "1"}, {"seed", "1"}});
    return exporter.ok("export", {{"name", name}});
  }
  Message import(Message how = {}) {
    how.set("name", name);
    how.set("gpu", gpu_);
    how.set("access", HB_ACCESS_READ_WRITE);
    return importer.call("import", how);
  }
  void import_and_check() {
    if (const Message imported = import(); imported.number("status", 1) != 0)
      throw Failed("import: " + said(imported));
    importer.ok("check", {{"seed", "1"}});
  }
  // What the importer writes is what the exporter reads. `whose`: mem or program.
  void write_back(const char* whose) {
    importer.ok("fill", {{"seed", "2"}});
    exporter.ok("check", {{whose, "1"}, {"seed", "2"}});
  }
  void must_not_be_there(const char* what) {
    if (import().number("status", 1) == 0) throw Failed(what);
  }
  void leave() {
    importer.leave("importer");
    exporter.leave("exporter");
  }

  const std::string name = fresh_name();
  Peer exporter;
  Peer importer;

 private:
  std::string gpu_;
};

// May the library refuse, and be right?
using Allowed = bool (*)(const Lab& lab, const std::string& code);

void share(const Lab& lab, const char* how, const Message& by, Allowed allowed) {
  Pair pair(lab);
  pair.make(how);
  const Message shared = pair.export_by(by);
  if (shared.number("status", 1) != 0) {
    if (allowed(lab, shared.text("code"))) throw NotHere(said(shared));
    throw Failed("export: " + said(shared));
  }
  pair.import_and_check();
  pair.write_back("program");
  pair.importer.ok("close");
  pair.exporter.ok("withdraw");
  pair.exporter.ok("unmake");
  pair.leave();
}

bool never(const Lab&, const std::string&) { return false; }

bool without_hsa(const Lab& lab, const std::string& code) {
  return code == "HB_UNSUPPORTED" && *lab.runtime().hsa_path == '\0';
}

bool before_retain(const Lab& lab, const std::string& code) {
  return code == "HB_NOT_SHAREABLE" && lab.is_known("retain_takes_no_reference");
}

// ---- what memory is -----------------------------------------------------------------------------

void must_be_kind(const std::string& what, const Message& told, std::uint32_t memory, const char* shareable) {
  if (told.number("status", 1) != 0) throw Failed(what + ": hb_classify: " + said(told));
  if (told.number("memory") != memory)
    throw Failed(what + ": hb_classify says kind " + told.text("memory") + ", not " + text_of(memory) + " (" +
                 told.text("reason") + ")");
  if (told.text("shareable") != shareable)
    throw Failed(what + ": hb_classify says shareable " + told.text("shareable") + ", and it is " +
                 shareable + " (" + told.text("reason") + ")");
}

void classify_shared(const Lab& lab) {
  Pair pair(lab);
  pair.own();
  pair.import_and_check();
  must_be_kind("own memory", pair.exporter.ok("classify", {{"mem", "1"}}), HB_MEMORY_OWN, "1");
  must_be_kind("imported memory", pair.importer.ok("classify"), HB_MEMORY_IMPORTED, "0");
  must_be_kind("the stack", pair.exporter.ok("classify", {{"nowhere", "1"}}), HB_MEMORY_UNKNOWN, "0");
  pair.leave();
}

void classify_program(const Lab& lab, const char* how, std::uint32_t memory) {
  Pair pair(lab);
  pair.make(how);
  // True as to what hb_classify will say: some runtimes must not be asked.
  const bool device = memory == HB_MEMORY_VMM || memory == HB_MEMORY_MALLOC;
  Message by;
  if (device) by.set("claim", memory);
  const Message shared = pair.export_by(by);
  const bool exported = shared.number("status", 1) == 0;
  if (!exported && shared.text("code") != "HB_NOT_SHAREABLE" && shared.text("code") != "HB_UNSUPPORTED")
    throw Failed(std::string(how) + ": export: " + said(shared));
  if (exported && !device) throw Failed(std::string(how) + ": it was exported, and never must be");
  if (exported) pair.import_and_check();
  const Message told = pair.exporter.ok("classify", {{"program", "1"}});
  const bool asked = lab.report.query_safe.answer == HB_ANSWER_YES && *lab.runtime().hsa_path != '\0';
  if (told.number("memory") == HB_MEMORY_UNKNOWN && !asked) throw NotHere(told.text("reason"));
  must_be_kind(how, told, memory, exported ? "1" : "0");
  pair.importer.ok("close");
  pair.exporter.ok("unmake");
  pair.leave();
}

void classify_foreign(const Lab& lab) {
  classify_program(lab, "malloc", HB_MEMORY_MALLOC);
  classify_program(lab, "vmm", HB_MEMORY_VMM);
  classify_program(lab, "pool", HB_MEMORY_POOL);
  classify_program(lab, "host", HB_MEMORY_HOST);
}

// ---- how it ends --------------------------------------------------------------------------------

void range_gone(const Lab& lab) {
  Pair pair(lab);
  pair.make("vmm");
  if (const Message shared = pair.export_by({{"handles", "1"}}); shared.number("status", 1) != 0)
    throw Failed("export: " + said(shared));
  pair.import_and_check();
  must_be("current", pair.importer.ok("current").number("current"), 1);
  const Message gone = pair.exporter.ok("gone");
  must_be("current behind hb_range_gone", pair.importer.ok("current").number("current"), 0);
  must_be("exports", gone.number("exports"), 1);
  must_be("holders", gone.number("holders"), 1);
  pair.exporter.ok("unmake");
  pair.importer.ok("check", {{"seed", "1"}});  // nobody unmaps an importer
  pair.importer.ok("close");
  pair.must_not_be_there("memory said to be gone can still be imported");
  pair.leave();
}

void external(const Lab& lab) {
  Pair pair(lab);
  pair.own();
  const Message imported = pair.import({{"external", "1"}});
  if (imported.text("code") == "HB_UNSUPPORTED") throw NotHere(said(imported));
  if (imported.number("status", 1) != 0) throw Failed("import: " + said(imported));
  must_be("mapping", imported.number("mapping"), HB_MAP_EXTERNAL);
  pair.importer.ok("check", {{"seed", "1"}});
  pair.write_back("mem");
  pair.importer.ok("close");
  pair.exporter.ok("free");
  pair.leave();
}

void unmap_when(const Lab& lab) {
  Pair pair(lab);
  pair.own();
  pair.import_and_check();
  pair.importer.ok("unmap_when", {{"seed", "1"}});
  must_be("holders", pair.exporter.ok("withdraw").number("holders"), 0);
  pair.leave();
}

Step step(const char* name, void (*run)(const Lab& lab)) {
  return {name, [run](Lab& lab) {
            lab.demand_gpu();
            run(lab);
          }};
}

}  // namespace

std::vector<Step> foreign_steps() {
  static const std::string malloced = text_of(HB_MEMORY_MALLOC);
  static const std::string mapped = text_of(HB_MEMORY_VMM);
  return {
      step("gpu/malloc-by-pointer",
           [](const Lab& lab) {
             share(lab, "malloc", {{"claim", malloced}}, without_hsa);
           }),
      step("gpu/vmm-by-handles",
           [](const Lab& lab) {
             share(lab, "vmm", {{"handles", "1"}}, never);
           }),
      step("gpu/vmm-by-pointer",
           [](const Lab& lab) {
             share(lab, "vmm", {{"claim", mapped}}, before_retain);
           }),
      step("gpu/classify", classify_shared),
      step("gpu/classify-foreign", classify_foreign),
      step("gpu/range-gone", range_gone),
      {"gpu/external",
       [](Lab& lab) {
         lab.demand_export();
         external(lab);
       }},
      step("gpu/unmap-when", unmap_when),
  };
}

}  // namespace hb::selftest
