// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSTesting

/// A program with stubs for `http://stubbed.test/`, for runs under the tripwire.
///
/// `httpdns-stub-probe fail|pass URL...` gets each URL, and asks for the addresses of `http://resolved.test/`. It prints each
/// status, or each error.
@main
struct StubProbe {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let stubs = HTTPDNSStubs(unmatched: arguments.first == "pass" ? .pass : .fail)
        stubs.on(.get, "http://stubbed.test/").respond(.status(.ok))
        let client = try await HTTPDNSClient(configuration: .stubbed(stubs))
        for url in arguments.dropFirst() {
            await report(url) { "\(try await client.get(url).status.code)" }
        }
        await report("http://resolved.test/") { "\(try await client.rewrite("http://resolved.test/").addressURL)" }
        try await client.shutdown()
    }

    private static func report(_ url: String, _ result: () async throws -> String) async {
        do {
            print(try await result(), url)
        } catch {
            print((error as? HTTPDNSClientError)?.shortDescription ?? "error", url)
        }
    }
}
