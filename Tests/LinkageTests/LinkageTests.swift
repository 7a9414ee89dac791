import ServerRig
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Keeps full Foundation (and with it 30 MB of ICU data) out of programs that use the client without configuration files.
struct LinkageTests {
    private func librariesOf(_ product: String) async throws -> [String] {
        // ldd follows the libraries' own needs, too.
        let result = try await Command("ldd", [try BuiltProduct.path(product)]).run()
        #expect(result.status == 0, "\(result)")
        return result.output.split(separator: "\n").compactMap { line in
            line.split(separator: " ").first.map { $0.trimmingPrefix("\t") }.map(String.init)
        }
    }

    @Test("The client brings no more of Foundation than FoundationEssentials")
    func client() async throws {
        let libraries = try await librariesOf("httpdns-linkage-probe")
        #expect(
            libraries.contains { $0.hasPrefix("libcurl.so") },
            "the probe does not link the transport: \(libraries)"
        )
        let foundation = libraries.filter { $0.contains("Foundation") && !$0.hasPrefix("libFoundationEssentials.so") }
        #expect(foundation.isEmpty)
    }

    /// Packages of Swift are linked statically: ldd does not see them, but the names of their symbols stand in the program.
    private func hasMetrics(_ path: String) async throws -> Bool {
        try await Command("grep", ["-c", "11CoreMetrics", path]).run().status == 0
    }

    @Test("a program that uses the client has nothing of swift-metrics in it, nor does the command-line tool")
    func withoutMetrics() async throws {
        for product in ["httpdns-linkage-probe", "resolve-test"] {
            #expect(try await !hasMetrics(BuiltProduct.path(product)), "\(product)")
        }
    }

    #if Metrics
    @Test("the look for swift-metrics would see it: these tests have it, through HTTPDNSMetrics")
    func metricsControl() async throws {
        #expect(try await hasMetrics("/proc/\(getpid())/exe"))
    }
    #endif

    @Test("the look at the libraries would see Foundation: the command-line tool has it, through Yams")
    func control() async throws {
        #expect(try await librariesOf("resolve-test").contains("libFoundation.so"))
    }
}
