// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl

/// The whole stage: the text of a URL in, a rewritten request out. Beside it what libcurl's parser alone takes for the
/// same text and parts.
enum StageScenario {
    static func make() async throws -> Scenario {
        let provider = try await client(Subjects.providerConfiguration(.many))
        try await Subjects.warm(provider.resolver)
        let mapping = try await client(Subjects.mappingConfiguration(.many))
        let providerOfFew = try await client(Subjects.providerConfiguration(.few))
        try await Subjects.warm(providerOfFew.resolver)
        return Scenario(
            name: "stage",
            contenders: [
                contender("cached answer", provider), contender("mapping", mapping),
                contender("cached, few rules", providerOfFew),
                Contender("CURLU alone", .synchronous(parse)),
                step("  URL read by CURLU") { (try? ParsedURL(byCurl: $0)) != nil },
                step("  URL read in place") { ParsedURL(canonical: $0) != nil },
                step("  canonicalized") { (try? HTTPDNSRewriter.Canonicalizer.canonicalize($0)) != nil },
                step("  and resolved") { text in
                    guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(text) else { return false }
                    let question = HTTPDNSResolver.Query(url.host, port: url.port)
                    return (try? provider.resolver.cached(question)) != nil
                },
            ],
            choices: [.mixed],
            threads: [1, 2, 8]
        )
    }

    /// The first part of the stage.
    private static func step(_ name: String, _ work: @escaping @Sendable (String) -> Bool) -> Contender {
        Contender(
            name,
            .synchronous { names in
                let urls = urls(names)
                return { calls in
                    for call in calls where !work(urls[names.place(of: call)]) { requireHit(false, name) }
                }
            }
        )
    }

    private static func client(_ resolver: HTTPDNSResolver.Configuration) async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver = resolver
        return try await HTTPDNSClient(configuration: configuration)
    }

    private static func contender(_ name: String, _ client: HTTPDNSClient) -> Contender {
        Contender(
            name,
            .asynchronous { names in
                let urls = urls(names)
                return { calls in
                    for call in calls {
                        let rewritten = try? await client.rewrite(urls[names.place(of: call)])
                        guard rewritten != nil else { return requireHit(false, name) }
                    }
                }
            }
        )
    }

    @Sendable
    private static func parse(_ names: Names) -> Contender.Batch {
        let urls = urls(names)
        return { calls in
            for call in calls {
                let handle = curl_url()
                let text = urls[names.place(of: call)]
                let code = curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_PATH_AS_IS | CURLU_URLENCODE))
                guard code == CURLUE_OK else { return requireHit(false, "CURLU") }
                for part in parts {
                    var value: UnsafeMutablePointer<CChar>?
                    curl_url_get(handle, part, &value, 0)
                    curl_free(value)
                }
                curl_url_cleanup(handle)
            }
        }
    }

    private static let parts = [CURLUPART_HOST, CURLUPART_PATH]

    private static func urls(_ names: Names) -> [String] { names.texts.map { "https://\($0)/pictures/a.jpg" } }
}
