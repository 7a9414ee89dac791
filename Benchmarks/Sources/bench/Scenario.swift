/// One kind of load, and who carries it.
struct Scenario {
    /// What clear text or TLS with which version the requests travel over.
    enum Wire {
        case http1
        case http1TLS
        case http2TLS
    }

    var name: String
    var title: String
    var wire: Wire
    var inFlight: Int
    /// Measured requests per contender and round: about half a second for the fastest.
    var requests: Int
    /// The first is what the others are compared with.
    var contenders: [Contender]
    var targets: [Target]

    static let all: [Scenario] = [
        Scenario(
            name: "http1-1",
            title: "HTTP/1.1, 1 in flight",
            wire: .http1,
            inFlight: 1,
            requests: 8_000,
            contenders: [.curl, .client, .asyncHTTPClient],
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
            contenders: [.curl, .client, .asyncHTTPClient],
            targets: [
                Target(.client, .processorTime, atMost: 1.6, of: .curl, isBinding: true),
                Target(.client, .processorTime, atMost: 1.35, of: .curl),
                Target(.client, .rate, atLeast: 1.3, of: .asyncHTTPClient),
            ]
        ),
        Scenario(
            name: "http1-tls-64",
            title: "HTTP/1.1 over TLS, 64 in flight",
            wire: .http1TLS,
            inFlight: 64,
            requests: 20_000,
            contenders: [.curl, .client, .asyncHTTPClient],
            targets: []
        ),
        Scenario(
            name: "http2-tls-64",
            title: "HTTP/2 over TLS, 64 in flight",
            wire: .http2TLS,
            inFlight: 64,
            requests: 20_000,
            contenders: [.curl, .client, .asyncHTTPClient],
            targets: [
                Target(.client, .rate, atLeast: 1.3, of: .asyncHTTPClient),
                Target(.client, .processorTime, atMost: 0.55, of: .asyncHTTPClient),
            ]
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
