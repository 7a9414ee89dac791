// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension Scenario {
    /// All scenarios, in the order of a run.
    static let all: [Scenario] =
        starts + plain + tls + http2 + largeBodies + uploads + cached + manyInFlight + severalLoops

    private static let three: [Contender] = [.curl, .client, .asyncHTTPClient]
    private static let withStaticRuntime: [Contender] = [.clientStatic, .asyncHTTPClientStatic]

    /// The target of the client's CPU per request.
    private static func client(atMost goal: Double, aim: Double) -> Target {
        Target(.client, .processorTime, atMost: goal, aim: aim, of: .curl)
    }

    private static let starts: [Scenario] = [
        Scenario(
            name: "start",
            title:
                "from the start of the process to its first response, HTTP/1.1 over TLS; p50 is the time of the clock",
            wire: .http1TLS,
            inFlight: 1,
            requests: 1,
            measuresStart: true,
            contenders: [.curl, .client, .clientWithFile, .asyncHTTPClient, .go] + withStaticRuntime
        )
    ]

    private static let plain: [Scenario] = [
        Scenario(
            name: "http1-1",
            title: "HTTP/1.1, 1 in flight",
            wire: .http1,
            inFlight: 1,
            requests: 8_000,
            contenders: three + [.go, .urlSession] + withStaticRuntime,
            targets: [
                client(atMost: 1.25, aim: 1.15),
                Target(.client, .rate, atLeast: nil, aim: 1.6, of: .asyncHTTPClient),
            ]
        ),
        Scenario(
            name: "http1-2",
            title: "HTTP/1.1, 2 in flight",
            wire: .http1,
            inFlight: 2,
            requests: 10_000,
            contenders: three,
            targets: [client(atMost: 1.4, aim: 1.3)]
        ),
        Scenario(
            name: "http1-4",
            title: "HTTP/1.1, 4 in flight",
            wire: .http1,
            inFlight: 4,
            requests: 15_000,
            contenders: three
        ),
        Scenario(
            name: "http1-8",
            title: "HTTP/1.1, 8 in flight",
            wire: .http1,
            inFlight: 8,
            requests: 20_000,
            contenders: three
        ),
        Scenario(
            name: "http1-16",
            title: "HTTP/1.1, 16 in flight",
            wire: .http1,
            inFlight: 16,
            requests: 25_000,
            contenders: three
        ),
        Scenario(
            name: "http1-64",
            title: "HTTP/1.1, 64 in flight",
            wire: .http1,
            inFlight: 64,
            requests: 30_000,
            contenders: three
                + [
                    .go, .urlSession, .clientAmongMappings, .clientWithInterceptors, .clientWithMonitor,
                    .clientObserved,
                ]
                + withStaticRuntime,
            targets: [
                client(atMost: 1.15, aim: 1.05),
                Target(.clientWithInterceptors, .addedProcessorTime, atMost: 2, of: .client),
                Target(.clientWithMonitor, .rate, atLeast: 0.85, aim: 0.9, of: .client),
                Target(.clientObserved, .rate, atLeast: 0.92, aim: 0.97, of: .client),
                Target(.clientAmongMappings, .processorTime, atMost: nil, aim: 1.05, of: .client),
                Target(.client, .rate, atLeast: nil, aim: 1.3, of: .asyncHTTPClient),
            ]
        ),
        Scenario(
            name: "http1-64-10ms",
            title: "HTTP/1.1, 64 in flight, responses after 10 ms",
            wire: .http1,
            inFlight: 64,
            requests: 6_000,
            delay: 10,
            contenders: [.curl, .client, .clientWithMonitor],
            targets: [client(atMost: 1.4, aim: 1.2), Target(.clientWithMonitor, .rate, atLeast: 0.97, of: .client)]
        ),
        Scenario(
            name: "http1-512",
            title: "HTTP/1.1, 512 in flight",
            wire: .http1,
            inFlight: 512,
            requests: 30_000,
            contenders: three + [.go],
            targets: [client(atMost: 1.3, aim: 1.15)]
        ),
    ]

    private static let tls: [Scenario] = [
        Scenario(
            name: "http1-tls-1",
            title: "HTTP/1.1 over TLS, 1 in flight",
            wire: .http1TLS,
            inFlight: 1,
            requests: 6_000,
            contenders: three,
            targets: [client(atMost: 1.3, aim: 1.2)]
        ),
        Scenario(
            name: "http1-tls-64",
            title: "HTTP/1.1 over TLS, 64 in flight",
            wire: .http1TLS,
            inFlight: 64,
            requests: 20_000,
            contenders: three + [.go],
            targets: [client(atMost: 1.25, aim: 1.1)]
        ),
        Scenario(
            name: "http1-tls-512",
            title: "HTTP/1.1 over TLS, 512 in flight",
            wire: .http1TLS,
            inFlight: 512,
            requests: 20_000,
            contenders: three,
            targets: [client(atMost: 1.3, aim: 1.15)]
        ),
        Scenario(
            name: "http1-tls-new",
            title: "HTTP/1.1 over TLS, a new connection for each request, 16 in flight",
            wire: .http1TLSClosing,
            inFlight: 16,
            requests: 1_000,
            contenders: three + [.go],
            targets: [client(atMost: 1.05, aim: 1)]
        ),
        Scenario(
            name: "post-tls-64",
            title: "POST of 1 KiB, HTTP/1.1 over TLS, 64 in flight",
            wire: .http1TLS,
            inFlight: 64,
            requests: 20_000,
            bodyBytes: 1024,
            contenders: three + [.go],
            targets: [client(atMost: 1.25, aim: 1.1)]
        ),
    ]

    private static let http2: [Scenario] = [
        Scenario(
            name: "http2-tls-1",
            title: "HTTP/2 over TLS, 1 in flight",
            wire: .http2TLS,
            inFlight: 1,
            requests: 6_000,
            contenders: three + [.go],
            targets: [client(atMost: 1.35, aim: 1.2)]
        ),
        Scenario(
            name: "http2-tls-64",
            title: "HTTP/2 over TLS, 64 in flight",
            wire: .http2TLS,
            inFlight: 64,
            requests: 20_000,
            contenders: three + [.go] + withStaticRuntime,
            targets: [
                client(atMost: 1.15, aim: 1.05),
                Target(.client, .rate, atLeast: nil, aim: 1.3, of: .asyncHTTPClient),
                Target(.client, .processorTime, atMost: nil, aim: 0.55, of: .asyncHTTPClient),
            ]
        ),
        Scenario(
            name: "http2-tls-512",
            title: "HTTP/2 over TLS, 512 in flight",
            wire: .http2TLS,
            inFlight: 512,
            requests: 20_000,
            contenders: three + [.go],
            targets: [client(atMost: 1.15, aim: 1.05)]
        ),
    ]

    private static let largeBodies: [Scenario] = [
        download("download", "100 MB over HTTP/1.1, one after the other, read chunk by chunk", .http1),
        download("download-tls", "the same over TLS", .http1TLS),
        download("download-first", "100 MB over HTTP/1.1, each on a new connection", .http1Closing),
        download("download-first-tls", "the same over TLS", .http1TLSClosing),
        Scenario(
            name: "download-collected",
            title: "100 MB over HTTP/1.1, each as one array",
            wire: .http1,
            inFlight: 1,
            requests: 4,
            resource: .large,
            contenders: three + [.go],
            targets: [client(atMost: 1.1, aim: 1)]
        ),
        Scenario(
            name: "download-file",
            title: "100 MB over HTTP/1.1, each saved to a file",
            wire: .http1,
            inFlight: 1,
            requests: 4,
            resource: .large,
            reading: .saved,
            contenders: [.curl, .client],
            targets: [client(atMost: 1.1, aim: 1)]
        ),
    ]

    private static func download(_ name: String, _ title: String, _ wire: Wire) -> Scenario {
        Scenario(
            name: name,
            title: title,
            wire: wire,
            inFlight: 1,
            requests: 4,
            resource: .large,
            reading: .byChunks,
            contenders: three + [.go],
            targets: [client(atMost: 1.4, aim: 1.3)]
        )
    }

    private static let uploads: [Scenario] = [
        Scenario(
            name: "upload-file",
            title: "POST of 100 MB over HTTP/1.1 from a file, one after the other",
            wire: .http1,
            inFlight: 1,
            requests: 4,
            resource: .answer,
            bodyBytes: Resource.large.bytes,
            sending: .file,
            contenders: [.curl, .client, .go],
            targets: [client(atMost: 1.15, aim: 1.05)]
        ),
        Scenario(
            name: "upload-stream",
            title: "the same from a stream of 64 KiB chunks",
            wire: .http1,
            inFlight: 1,
            requests: 4,
            resource: .answer,
            bodyBytes: Resource.large.bytes,
            sending: .stream,
            contenders: three + [.go],
            targets: [client(atMost: 1.15, aim: 1.05)]
        ),
    ]

    /// The bounds of hits are microseconds: they have no counterpart in the C loop.
    private static let cached: [Scenario] = [
        Scenario(
            name: "cache",
            title:
                "a fresh response of 1 KiB from the response cache, beside the same response from nginx, 1 in flight",
            wire: .http1,
            inFlight: 1,
            requests: 8_000,
            resource: .cacheable,
            contenders: [.client, .clientWithMemory, .clientWithFolder],
            targets: [
                Target(.clientWithMemory, .ownProcessorTime, atMost: 3, of: .client),
                Target(.clientWithFolder, .ownProcessorTime, atMost: 60, of: .client),
            ]
        )
    ]

    private static let manyInFlight: [Scenario] = [
        Scenario(
            name: "silent",
            title: "HTTP/1.1, 16 in flight, beside 2,000 requests without a response",
            wire: .http1,
            inFlight: 16,
            requests: 20_000,
            contenders: [.client, .clientBesideSilent, .curl, .curlBesideSilent],
            targets: [Target(.clientBesideSilent, .processorTime, atMost: 1.3, aim: 1.1, of: .client)]
        ),
        Scenario(
            name: "slow",
            title: "HTTP/1.1, 64 in flight, with 2,000 more whose responses take 400 ms; CPU per request of both kinds",
            wire: .http1,
            inFlight: 64,
            requests: 20_000,
            contenders: [.client, .clientBesideSlow, .curl, .curlBesideSlow],
            targets: [Target(.clientBesideSlow, .processorTime, atMost: 1.1, aim: 1.05, of: .client)]
        ),
        Scenario(
            name: "memory",
            title: "HTTP/1.1, 2,000 in flight on as many connections, responses after 1 s",
            wire: .http1,
            inFlight: 2000,
            requests: 2000,
            delay: 1000,
            contenders: three + [.go]
        ),
        Scenario(
            name: "names",
            title: "one hot name, HTTP/1.1, 64 in flight, after 5,000 other names on 4 addresses",
            wire: .http1,
            inFlight: 64,
            requests: 20_000,
            contenders: [.client, .clientAmongNames],
            targets: [Target(.clientAmongNames, .processorTime, atMost: 1.3, of: .client)]
        ),
    ]

    private static let severalLoops: [Scenario] = [
        Scenario(
            name: "loops-64",
            title: "two loops beside one, HTTP/1.1, 64 in flight, cores not separated",
            wire: .http1,
            inFlight: 64,
            requests: 30_000,
            separatesCores: false,
            contenders: [.clientWithOneLoop, .clientWithTwoLoops],
            targets: [
                Target(.clientWithTwoLoops, .processorTime, atMost: 1.1, of: .clientWithOneLoop),
                Target(.clientWithTwoLoops, .rate, atLeast: 1, of: .clientWithOneLoop),
                Target(.clientWithTwoLoops, .busiestLoop, atMost: 0.6, of: .clientWithOneLoop),
            ]
        ),
        Scenario(
            name: "loops-4",
            title: "two loops beside one, HTTP/1.1, 4 in flight, cores not separated",
            wire: .http1,
            inFlight: 4,
            requests: 15_000,
            separatesCores: false,
            contenders: [.clientWithOneLoop, .clientWithTwoLoops],
            targets: [Target(.clientWithTwoLoops, .connections, atMost: 1, of: .clientWithOneLoop)]
        ),
    ]
}
