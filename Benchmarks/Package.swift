// swift-tools-version: 6.2
import PackageDescription

// Measures the client of the package above beside raw libcurl, AsyncHTTPClient and others. A package of its own, so that nobody
// who uses the library fetches what it is compared with.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "swift-httpdns-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-httpdns", path: "..", traits: ["Metrics", "NIO", "Tracing", "YAML"]),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.36.0"),
    ],
    targets: [
        // Starts the origin and the contenders in turn, and compares. Its own processor time counts nowhere.
        .executableTarget(
            name: "bench",
            dependencies: [
                "ChildProcess", "DelayedOrigin",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .target(name: "ChildProcess"),
        // The same sources are a target of the package above; two targets of one name cannot be in one graph of packages.
        .target(name: "DelayedOrigin", path: "Origin"),
        // Contenders are processes, so that the processor time of each is its own.
        .systemLibrary(name: "LibCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .executableTarget(name: "bench-curl", dependencies: ["LibCurl"]),
        .executableTarget(
            name: "bench-asynchttpclient",
            dependencies: [
                "Workload",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "bench-client",
            dependencies: [
                "Workload",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSMetrics", package: "swift-httpdns"),
                .product(name: "HTTPDNSMonitor", package: "swift-httpdns"),
                .product(name: "HTTPDNSResponseCache", package: "swift-httpdns"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings
        ),
        // Configuration files bring full Foundation, which the other program must not start with.
        .executableTarget(
            name: "bench-client-file",
            dependencies: [
                "Workload",
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSConfiguration", package: "swift-httpdns"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "bench-proxy",
            dependencies: [
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSCore", package: "swift-httpdns"),
                .product(name: "HTTPDNSNIO", package: "swift-httpdns"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "bench-urlsession", dependencies: ["Workload"], swiftSettings: settings),
        .target(name: "Workload", swiftSettings: settings),
    ]
)
