// Runs a flat list of native steps in one call, so that no Python runs per step.
//
// A step calls a host entry through its shim, launches a device entry, fills or copies a buffer.
// Entries take an array of pointers to argument values, as cuLaunchKernel does. Values live in one
// table of 64-bit words; before the steps run, the words that hold addresses are patched from the
// caller's table of buffers. One program must not be run by two threads at once.
//
// The CUDA driver is found at run time, and what is used of it is declared here, so that neither a
// toolkit nor a GPU is needed to compile this file. Declarations follow the CUDA Driver API
// reference, version 13.0; a test compares their layout with cuda.h where that header exists.
//
// Streams: stream 0 is the caller's. Other streams wait for it at the start and are joined at the
// end, so a program can be captured into a CUDA graph.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using CUresult = int;
using CUhandle = void *;

struct LaunchAttribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        unsigned int cluster[3];
        int flag;
        std::uint64_t align;
    } value;
};

struct LaunchConfig {
    unsigned int grid[3], block[3], shared_bytes;
    CUhandle stream;
    LaunchAttribute *attributes;
    unsigned int attribute_count;
};

enum AttributeId { kCooperative = 2, kClusterDimension = 4, kProgrammaticSerialization = 6 };
enum FunctionAttribute { kMaxDynamicShared = 8, kNonPortableCluster = 14 };
enum Limits { kPortableCluster = 8, kPortableShared = 48 * 1024 };
enum { kEventDisableTiming = 2, kStreamNonBlocking = 1 };

// Codes of our own, below those of the driver.
enum { kOk = 0, kNoDriver = -1, kMissingSymbol = -2 };

struct Driver {
    CUresult (*launch)(const LaunchConfig *, CUhandle, void **, void **);
    CUresult (*module_load)(CUhandle *, const void *);
    CUresult (*module_unload)(CUhandle);
    CUresult (*get_function)(CUhandle *, CUhandle, const char *);
    CUresult (*set_attribute)(CUhandle, int, int);
    CUresult (*memset8)(std::uint64_t, unsigned char, std::size_t, CUhandle);
    CUresult (*copy)(std::uint64_t, std::uint64_t, std::size_t, CUhandle);
    CUresult (*stream_create)(CUhandle *, unsigned int);
    CUresult (*stream_destroy)(CUhandle);
    CUresult (*stream_wait)(CUhandle, CUhandle, unsigned int);
    CUresult (*event_create)(CUhandle *, unsigned int);
    CUresult (*event_record)(CUhandle, CUhandle);
    CUresult (*event_destroy)(CUhandle);
    CUresult (*error_name)(CUresult, const char **);
    int state;
    char problem[256];
};

template <typename Function>
bool find(Driver &driver, void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) std::snprintf(driver.problem, sizeof driver.problem, "libcuda.so.1 has no %s", name);
    return function != nullptr;
}

Driver open_driver() {
    Driver d{};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        const char *reason = dlerror();
        std::snprintf(d.problem, sizeof d.problem, "%s", reason != nullptr ? reason : "no libcuda.so.1");
        d.state = kNoDriver;
        return d;
    }
    bool complete = find(d, library, "cuLaunchKernelEx", d.launch) &&
                    find(d, library, "cuModuleLoadData", d.module_load) &&
                    find(d, library, "cuModuleUnload", d.module_unload) &&
                    find(d, library, "cuModuleGetFunction", d.get_function) &&
                    find(d, library, "cuFuncSetAttribute", d.set_attribute) &&
                    find(d, library, "cuMemsetD8Async", d.memset8) &&
                    find(d, library, "cuMemcpyDtoDAsync_v2", d.copy) &&
                    find(d, library, "cuStreamCreate", d.stream_create) &&
                    find(d, library, "cuStreamDestroy_v2", d.stream_destroy) &&
                    find(d, library, "cuStreamWaitEvent", d.stream_wait) &&
                    find(d, library, "cuEventCreate", d.event_create) &&
                    find(d, library, "cuEventRecord", d.event_record) &&
                    find(d, library, "cuEventDestroy_v2", d.event_destroy) &&
                    find(d, library, "cuGetErrorName", d.error_name);
    d.state = complete ? kOk : kMissingSymbol;
    return d;
}

Driver &driver() {
    static Driver instance = open_driver();
    return instance;
}

}  // namespace

extern "C" {

enum StepKind : std::int32_t { kCall = 0, kLaunch = 1, kMemset = 2, kCopy = 3 };
enum StepFlag : std::uint32_t { kIsCooperative = 1, kIsProgrammatic = 2, kIsAwaited = 4 };

struct kw_step {
    std::int32_t kind;
    std::int32_t stream;
    void *function;
    std::uint32_t grid[3], block[3], cluster[3];
    std::uint32_t shared_bytes;
    std::uint32_t flags;
    std::int32_t first_arg;     // first word of this step's arguments in the value table
    std::int32_t destination;   // buffer index, for memset and copy
    std::int32_t source;        // buffer index, for copy
    std::int32_t byte;
    std::int32_t first_after;   // first entry in the list of awaited steps
    std::int32_t after_count;
    std::uint64_t nbytes;
};

struct kw_patch {
    std::int32_t word;    // which word of the value table
    std::int32_t buffer;  // which entry of the caller's table
    std::uint64_t offset;
};

struct kw_error {
    std::int32_t step;
    std::int32_t code;
    char text[256];
};

struct kw_program;

}  // extern "C"

struct kw_program {
    bool device;
    std::vector<kw_step> steps;
    std::vector<kw_patch> patches;
    std::vector<std::int32_t> after;
    std::vector<std::uint64_t> words;
    std::vector<void *> pointers;   // pointers[i] points at words[i]
    std::vector<CUhandle> streams;  // 0 is set by each run
    std::vector<CUhandle> ended;    // one event per awaited step, else null
    std::vector<CUhandle> joined;   // one event per side stream
    CUhandle started = nullptr;
};

namespace {

CUresult run_launch(kw_program &p, const kw_step &step) {
    if (step.grid[0] == 0 || step.grid[1] == 0 || step.grid[2] == 0) return kOk;
    LaunchAttribute attributes[3];
    unsigned int count = 0;
    if (step.cluster[0] * step.cluster[1] * step.cluster[2] > 1) {
        attributes[count].id = kClusterDimension;
        std::memcpy(attributes[count++].value.cluster, step.cluster, sizeof step.cluster);
    }
    if (step.flags & kIsCooperative) {
        attributes[count].id = kCooperative;
        attributes[count++].value.flag = 1;
    }
    if (step.flags & kIsProgrammatic) {
        attributes[count].id = kProgrammaticSerialization;
        attributes[count++].value.flag = 1;
    }
    LaunchConfig config{};
    std::memcpy(config.grid, step.grid, sizeof step.grid);
    std::memcpy(config.block, step.block, sizeof step.block);
    config.shared_bytes = step.shared_bytes;
    config.stream = p.streams[step.stream];
    config.attributes = attributes;
    config.attribute_count = count;
    return driver().launch(&config, step.function, p.pointers.data() + step.first_arg, nullptr);
}

CUresult run_step(kw_program &p, const kw_step &step, void *const *buffers) {
    switch (step.kind) {
        case kCall:
            reinterpret_cast<void (*)(void *const *)>(step.function)(p.pointers.data() + step.first_arg);
            return kOk;
        case kLaunch:
            return run_launch(p, step);
        case kMemset:
            if (step.nbytes == 0) return kOk;
            if (p.device)
                return driver().memset8(reinterpret_cast<std::uint64_t>(buffers[step.destination]),
                                        static_cast<unsigned char>(step.byte), step.nbytes,
                                        p.streams[step.stream]);
            std::memset(buffers[step.destination], step.byte, step.nbytes);
            return kOk;
        default:
            if (step.nbytes == 0) return kOk;
            if (p.device)
                return driver().copy(reinterpret_cast<std::uint64_t>(buffers[step.destination]),
                                     reinterpret_cast<std::uint64_t>(buffers[step.source]), step.nbytes,
                                     p.streams[step.stream]);
            std::memmove(buffers[step.destination], buffers[step.source], step.nbytes);
            return kOk;
    }
}

CUresult fork(kw_program &p) {
    if (p.streams.size() < 2) return kOk;
    CUresult code = driver().event_record(p.started, p.streams[0]);
    for (std::size_t s = 1; s < p.streams.size() && code == kOk; ++s)
        code = driver().stream_wait(p.streams[s], p.started, 0);
    return code;
}

CUresult join(kw_program &p) {
    CUresult code = kOk;
    for (std::size_t s = 1; s < p.streams.size() && code == kOk; ++s) {
        code = driver().event_record(p.joined[s], p.streams[s]);
        if (code == kOk) code = driver().stream_wait(p.streams[0], p.joined[s], 0);
    }
    return code;
}

CUresult wait_for_others(kw_program &p, const kw_step &step) {
    CUresult code = kOk;
    for (std::int32_t i = 0; i < step.after_count && code == kOk; ++i) {
        const std::int32_t other = p.after[step.first_after + i];
        if (p.steps[other].stream != step.stream)
            code = driver().stream_wait(p.streams[step.stream], p.ended[other], 0);
    }
    return code;
}

CUresult make_streams(kw_program &p, std::int32_t stream_count) {
    p.streams.assign(stream_count, nullptr);
    p.joined.assign(stream_count, nullptr);
    p.ended.assign(p.steps.size(), nullptr);
    if (stream_count < 2) return kOk;
    Driver &d = driver();
    CUresult code = d.event_create(&p.started, kEventDisableTiming);
    for (std::int32_t s = 1; s < stream_count && code == kOk; ++s) {
        code = d.stream_create(&p.streams[s], kStreamNonBlocking);
        if (code == kOk) code = d.event_create(&p.joined[s], kEventDisableTiming);
    }
    for (std::size_t i = 0; i < p.steps.size() && code == kOk; ++i)
        if (p.steps[i].flags & kIsAwaited) code = d.event_create(&p.ended[i], kEventDisableTiming);
    return code;
}

int report(kw_error *error, int step, int code) {
    error->step = step;
    error->code = code;
    const char *name = nullptr;
    if (code < 0)
        name = driver().problem;
    else if (driver().error_name != nullptr)
        driver().error_name(code, &name);
    std::snprintf(error->text, sizeof error->text, "%s", name != nullptr ? name : "unknown error");
    return code;
}

}  // namespace

extern "C" {

int kw_abi() { return 1; }
std::size_t kw_step_size() { return sizeof(kw_step); }

int kw_driver(kw_error *error) { return driver().state == kOk ? kOk : report(error, -1, driver().state); }

int kw_module_load(const void *image, void **module, kw_error *error) {
    if (driver().state != kOk) return report(error, -1, driver().state);
    CUresult code = driver().module_load(module, image);
    return code == kOk ? kOk : report(error, -1, code);
}

int kw_module_unload(void *module, kw_error *error) {
    CUresult code = driver().module_unload(module);
    return code == kOk ? kOk : report(error, -1, code);
}

int kw_module_function(void *module, const char *name, std::uint32_t shared_bytes, std::uint32_t cluster_blocks,
                       void **function, kw_error *error) {
    Driver &d = driver();
    CUresult code = d.get_function(function, module, name);
    if (code == kOk && shared_bytes > kPortableShared)
        code = d.set_attribute(*function, kMaxDynamicShared, static_cast<int>(shared_bytes));
    if (code == kOk && cluster_blocks > kPortableCluster) code = d.set_attribute(*function, kNonPortableCluster, 1);
    return code == kOk ? kOk : report(error, -1, code);
}

kw_program *kw_program_new(int device, const kw_step *steps, std::int32_t step_count, const std::int32_t *after,
                           std::int32_t after_count, const std::uint64_t *words, std::int32_t word_count,
                           const kw_patch *patches, std::int32_t patch_count, std::int32_t stream_count,
                           kw_error *error) {
    auto *p = new kw_program;
    p->device = device != 0;
    p->steps.assign(steps, steps + step_count);
    p->after.assign(after, after + after_count);
    p->patches.assign(patches, patches + patch_count);
    p->words.assign(words, words + word_count);
    p->pointers.resize(word_count);
    for (std::int32_t i = 0; i < word_count; ++i) p->pointers[i] = &p->words[i];
    CUresult code = make_streams(*p, p->device ? stream_count : 1);
    if (code != kOk) report(error, -1, code);
    return p;
}

void kw_program_free(kw_program *p) {
    Driver &d = driver();
    for (std::size_t s = 1; s < p->streams.size(); ++s)
        if (p->streams[s] != nullptr) d.stream_destroy(p->streams[s]);
    for (CUhandle event : p->joined)
        if (event != nullptr) d.event_destroy(event);
    for (CUhandle event : p->ended)
        if (event != nullptr) d.event_destroy(event);
    if (p->started != nullptr) d.event_destroy(p->started);
    delete p;
}

int kw_program_run(kw_program *p, void *const *buffers, void *stream, kw_error *error) {
    for (const kw_patch &patch : p->patches)
        p->words[patch.word] = reinterpret_cast<std::uint64_t>(buffers[patch.buffer]) + patch.offset;
    p->streams[0] = stream;
    CUresult code = fork(*p);
    if (code != kOk) return report(error, -1, code);
    for (std::size_t i = 0; i < p->steps.size(); ++i) {
        const kw_step &step = p->steps[i];
        const bool several = p->streams.size() > 1;
        if (several) code = wait_for_others(*p, step);
        if (code == kOk) code = run_step(*p, step, buffers);
        if (code == kOk && several && (step.flags & kIsAwaited))
            code = driver().event_record(p->ended[i], p->streams[step.stream]);
        if (code != kOk) return report(error, static_cast<int>(i), code);
    }
    code = join(*p);
    return code == kOk ? kOk : report(error, -1, code);
}

}  // extern "C"
