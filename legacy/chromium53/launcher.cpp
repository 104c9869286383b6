// One window of Chromium 53 (QtWebEngine 5.8) with SPDY/3.1 switched on: the client of the stack SPDY.
//
//     launcher WINDOW.qml WIDTH HEIGHT
//     launcher --version
//
// Compiled at install against the libraries of the PyPI wheel, which brings no headers: the few
// symbols used are declared here, each class with room for whatever the library puts into it.
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

class QObject;
struct QString {
    void *d;
    static QString fromUtf8_helper(const char *, int);
    ~QString() {}  // Not trivial, as the real one: it decides how one is returned. Never freed.
};
struct QGuiApplication {
    void *room[32];
    QGuiApplication(int &, char **, int);
    static int exec();
};
struct QQmlApplicationEngine {
    void *room[32];
    explicit QQmlApplicationEngine(QObject *);
    void load(const QString &);
};
namespace QtWebEngine { void initialize(); }

// net::HttpNetworkSession::Params::Params(): enable_spdy31, at 0x7c, is false in Chromium 53.
// Its neighbours are checked too, so that no other code can be taken for it.
static const uintptr_t AT = 0xd12ff1;
static const unsigned char OLD[] = {0xc7, 0x47, 0x78, 0, 0, 0, 0, 0xc6, 0x47, 0x7c, 0, 0xc6, 0x47, 0x7d, 1};
static const size_t VALUE = 10;

// What this library calls itself to servers; it is checked to be this one.
static const char *VERSION = "Chromium 53.0.2785.148";

static int find_core(dl_phdr_info *library, size_t, void *base) {
    if (!strstr(library->dlpi_name, "libQt5WebEngineCore.so")) return 0;
    *static_cast<uintptr_t *>(base) = library->dlpi_addr;
    return 1;
}

static void refuse(const char *why) {
    fprintf(stderr, "launcher: SPDY/3.1 cannot be switched on: %s\n", why);
    exit(3);
}

static void enable_spdy31() {
    uintptr_t base = 0;
    if (!dl_iterate_phdr(find_core, &base)) refuse("libQt5WebEngineCore is not loaded");
    unsigned char *code = reinterpret_cast<unsigned char *>(base + AT);
    if (memcmp(code, OLD, sizeof OLD)) refuse("libQt5WebEngineCore is not the one of PyQt5 5.8.2");
    uintptr_t page = reinterpret_cast<uintptr_t>(code) & -sysconf(_SC_PAGESIZE);
    size_t length = reinterpret_cast<uintptr_t>(code) + sizeof OLD - page;
    void *start = reinterpret_cast<void *>(page);
    if (mprotect(start, length, PROT_READ | PROT_WRITE | PROT_EXEC)) refuse("its code cannot be written");
    code[VALUE] = 1;  // a private copy of the page: the file stays as it is
    mprotect(start, length, PROT_READ | PROT_EXEC);
}

int main(int argc, char **argv) {
    enable_spdy31();
    if (argc == 2 && !strcmp(argv[1], "--version")) return puts(VERSION), 0;
    if (argc < 4) return fprintf(stderr, "usage: launcher WINDOW.qml WIDTH HEIGHT\n"), 2;
    static QGuiApplication application(argc, argv, 0x050800);
    QtWebEngine::initialize();
    static QQmlApplicationEngine engine(nullptr);
    engine.load(QString::fromUtf8_helper(argv[1], strlen(argv[1])));
    return QGuiApplication::exec();
}
