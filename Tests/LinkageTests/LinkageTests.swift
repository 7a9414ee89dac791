// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import ServerRig
import Testing

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

    @Test("The client links no more of Foundation than FoundationEssentials")
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

    @Test("A program that uses the client does not contain swift-metrics")
    func withoutMetrics() async throws {
        #expect(try await !hasMetrics(BuiltProduct.path("httpdns-linkage-probe")))
    }

    /// With all traits Hummingbird brings swift-metrics into resolve-test: the rule is about this package's own module.
    @Test("The command-line tool has no metrics of a resolver in it")
    func programWithoutMetrics() async throws {
        let module = "$s14HTTPDNSMetrics"
        let found = try await Command("grep", ["-cF", module, BuiltProduct.path("resolve-test")]).run()
        #expect(found.status == 1, "\(found)")
        // The same search finds it in these tests.
        #expect(try await Command("grep", ["-cF", module, "/proc/\(getpid())/exe"]).run().status == 0)
    }

    #if Metrics
    /// They have it through HTTPDNSMetrics.
    @Test("The check for swift-metrics finds it in these tests")
    func metricsControl() async throws {
        #expect(try await hasMetrics("/proc/\(getpid())/exe"))
    }
    #endif

    /// It has Foundation through Yams.
    @Test("The check of the libraries finds Foundation in the command-line tool")
    func control() async throws {
        #expect(try await librariesOf("resolve-test").contains("libFoundation.so"))
    }
}

/// The program without what package traits add. `make bare` builds it, and runs these tests with `HTTPDNS_BARE`, its folder.
@Suite(.enabled("make bare names the folder in HTTPDNS_BARE") { getenv("HTTPDNS_BARE") != nil })
struct BareProgramTests {
    private let program = getenv("HTTPDNS_BARE").map { String(cString: $0) + "/resolve-test" } ?? ""

    @Test(
        "A feature without its trait names the trait",
        arguments: [
            (["serve", "served.yaml"], "LocalProvider"),
            (["check", "httpdns.yaml"], "YAML"),
        ]
    )
    func missing(arguments: [String], trait: String) async throws {
        let result = try await Command(program, arguments).run()
        #expect(result.status == 2 && result.output.isEmpty, "\(result)")
        #expect(result.error.contains("trait \(trait)"), "\(result)")
    }

    @Test("The bare program contains no swift-metrics, swift-crypto or Hummingbird")
    func small() async throws {
        for module in ["11CoreMetrics", "6Crypto", "11Hummingbird"] {
            let found = try await Command("grep", ["-cF", "$s\(module)", program]).run()
            #expect(found.status == 1, "\(module): \(found)")
        }
        // The same search finds what is there.
        #expect(try await Command("grep", ["-cF", "$s11HTTPDNSCore", program]).run().status == 0)
    }
}
