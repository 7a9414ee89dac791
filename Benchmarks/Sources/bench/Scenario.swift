// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// One kind of load, and who carries it.
struct Scenario {
    /// What clear text or TLS with which version the requests travel over.
    enum Wire {
        case http1
        case http1TLS
        /// The server ends the connection after each answer.
        case http1TLSClosing
        case http2TLS
    }

    /// What is asked for.
    enum Resource: String {
        case small = "1k"
        case large = "100m"

        var bytes: Int {
            switch self {
            case .small: 1024
            case .large: 100 << 20
            }
        }
    }

    var name: String
    var title: String
    var wire: Wire
    var inFlight: Int
    /// Measured requests per contender and round: about half a second for the fastest.
    var requests: Int
    var resource = Resource.small
    /// The first is what the others are compared with.
    var contenders: [Contender]
    var targets: [Target] = []

    private static let three: [Contender] = [.curl, .client, .asyncHTTPClient]

    static let all: [Scenario] = [
        Scenario(
            name: "http1-1",
            title: "HTTP/1.1, 1 in flight",
            wire: .http1,
            inFlight: 1,
            requests: 8_000,
            contenders: three + [.clientOnLoop, .urlSession],
            targets: [
                Target(.client, .processorTime, atMost: 1.3, of: .curl),
                Target(.client, .rate, atLeast: 1.6, of: .asyncHTTPClient),
            ]
        ),
        Scenario(
            name: "http1-64",
            title: "HTTP/1.1, 64 in flight",
            wire: .http1,
            inFlight: 64,
            requests: 30_000,
            contenders: three + [.clientOnLoop, .urlSession],
            targets: [
                Target(.client, .processorTime, atMost: 1.6, of: .curl, isBinding: true),
                Target(.client, .processorTime, atMost: 1.35, of: .curl),
                Target(.clientOnLoop, .processorTime, atMost: 1.15, of: .curl),
                Target(.client, .rate, atLeast: 1.3, of: .asyncHTTPClient),
            ]
        ),
        Scenario(
            name: "http1-512",
            title: "HTTP/1.1, 512 in flight",
            wire: .http1,
            inFlight: 512,
            requests: 30_000,
            contenders: three + [.clientOnLoop]
        ),
        Scenario(
            name: "http1-tls-1",
            title: "HTTP/1.1 over TLS, 1 in flight",
            wire: .http1TLS,
            inFlight: 1,
            requests: 6_000,
            contenders: three
        ),
        Scenario(
            name: "http1-tls-64",
            title: "HTTP/1.1 over TLS, 64 in flight",
            wire: .http1TLS,
            inFlight: 64,
            requests: 20_000,
            contenders: three + [.clientOnLoop]
        ),
        Scenario(
            name: "http1-tls-512",
            title: "HTTP/1.1 over TLS, 512 in flight",
            wire: .http1TLS,
            inFlight: 512,
            requests: 20_000,
            contenders: three
        ),
        Scenario(
            name: "http1-tls-new",
            title: "HTTP/1.1 over TLS, a new connection for each request, 16 in flight",
            wire: .http1TLSClosing,
            inFlight: 16,
            requests: 1_000,
            contenders: three
        ),
        Scenario(
            name: "http2-tls-1",
            title: "HTTP/2 over TLS, 1 in flight",
            wire: .http2TLS,
            inFlight: 1,
            requests: 6_000,
            contenders: three
        ),
        Scenario(
            name: "http2-tls-64",
            title: "HTTP/2 over TLS, 64 in flight",
            wire: .http2TLS,
            inFlight: 64,
            requests: 20_000,
            contenders: three + [.clientOnLoop],
            targets: [
                Target(.client, .rate, atLeast: 1.3, of: .asyncHTTPClient),
                Target(.client, .processorTime, atMost: 0.55, of: .asyncHTTPClient),
            ]
        ),
        Scenario(
            name: "http2-tls-512",
            title: "HTTP/2 over TLS, 512 in flight",
            wire: .http2TLS,
            inFlight: 512,
            requests: 20_000,
            contenders: three
        ),
        Scenario(
            name: "download",
            title: "100 MB over HTTP/1.1, one after the other, read chunk by chunk",
            wire: .http1,
            inFlight: 1,
            requests: 4,
            resource: .large,
            contenders: three
        ),
        Scenario(
            name: "silent",
            title: "HTTP/1.1, 16 in flight, beside 2,000 requests that nobody answers",
            wire: .http1,
            inFlight: 16,
            requests: 20_000,
            contenders: [.client, .clientBesideSilent, .curl, .curlBesideSilent],
            targets: [Target(.clientBesideSilent, .processorTime, atMost: 3, of: .client, isBinding: true)]
        ),
        Scenario(
            name: "names",
            title: "one hot name, HTTP/1.1, 64 in flight, after 5,000 other names on 4 addresses",
            wire: .http1,
            inFlight: 64,
            requests: 20_000,
            contenders: [.client, .clientAmongNames],
            targets: [Target(.clientAmongNames, .processorTime, atMost: 1.3, of: .client, isBinding: true)]
        ),
    ]
}
