// swift-tools-version: 6.2
import PackageDescription

// Layers: a target may depend only on those above it in this list (Docs/Architecture/README.md).
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
    name: "swift-httpdns",
    // The package is for Linux. For an editor on macOS: without this SwiftPM assumes a macOS too old for the dependencies.
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "HTTPDNSCore", targets: ["HTTPDNSCore"]),
        .library(name: "HTTPDNS", targets: ["HTTPDNS"]),
        .library(name: "HTTPDNSConfiguration", targets: ["HTTPDNSConfiguration"]),
        .library(name: "HTTPDNSControl", targets: ["HTTPDNSControl"]),
        .library(name: "HTTPDNSFoundation", targets: ["HTTPDNSFoundation"]),
        .library(name: "HTTPDNSGRPC", targets: ["HTTPDNSGRPC"]),
        .library(name: "HTTPDNSLocalProvider", targets: ["HTTPDNSLocalProvider"]),
        .library(name: "HTTPDNSMetrics", targets: ["HTTPDNSMetrics"]),
        .library(name: "HTTPDNSNIO", targets: ["HTTPDNSNIO"]),
        .library(name: "HTTPDNSResponseCache", targets: ["HTTPDNSResponseCache"]),
        .library(name: "HTTPDNSServiceLifecycle", targets: ["HTTPDNSServiceLifecycle"]),
        .library(name: "HTTPDNSTesting", targets: ["HTTPDNSTesting"]),
        .library(name: "HTTPDNSMonitor", targets: ["HTTPDNSMonitor"]),
        .library(name: "HTTPDNSVendors", targets: ["HTTPDNSVendors"]),
        .executable(name: "resolve-test", targets: ["resolve-test"]),
    ],
    traits: [
        .trait(
            name: "CommandLine",
            description: "The commands of resolve-test (brings swift-argument-parser and HdrHistogram)"
        ),
        .trait(name: "Digest", description: "Digest authentication of a client's requests (brings swift-crypto)"),
        .trait(name: "GRPC", description: "Name resolution for grpc-swift-2 (brings grpc-swift-nio-transport)"),
        .trait(
            name: "LocalProvider",
            description:
                "A local HTTP-DNS provider and resolve-test serve (brings Hummingbird, swift-certificates, swift-crypto)",
            enabledTraits: ["YAML"]
        ),
        .trait(name: "NIO", description: "Connections of SwiftNIO by a client or its resolver (brings swift-nio)"),
        .trait(name: "Peers", description: "Other clients that the tests run (brings async-http-client)"),
        .trait(
            name: "ServiceLifecycle",
            description: "A client's life in a service group (brings swift-service-lifecycle)"
        ),
        .trait(name: "Signing", description: "Accounts of vendors that sign their queries (brings swift-crypto)"),
        .trait(
            name: "SwiftConfiguration",
            description: "A client's settings from a ConfigReader (brings swift-configuration)"
        ),
        .trait(name: "Tracing", description: "Spans of calls and requests (brings swift-distributed-tracing)"),
        .trait(name: "YAML", description: "Configuration files in YAML and JSON (brings Yams and full Foundation)"),
        .trait(name: "Metrics", description: "The metrics of a client and its resolver (brings swift-metrics)"),
        .default(enabledTraits: ["YAML", "Metrics"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .systemLibrary(name: "CHTTPDNSCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        // Its name is no other package's: targets of one name cannot be in one program.
        .systemLibrary(name: "CHTTPDNSZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CHTTPDNSProcess"),
        .target(name: "HTTPDNSPrimitives", swiftSettings: settings),
        .target(
            name: "HTTPDNSCurl",
            dependencies: [
                "CHTTPDNSCurl",
                "CHTTPDNSZlib",
                "HTTPDNSPrimitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(name: "HTTPDNSMessages", dependencies: ["HTTPDNSPrimitives"], swiftSettings: settings),
        .target(
            name: "HTTPDNSCore",
            dependencies: [
                "HTTPDNSCurl",
                "HTTPDNSMessages",
                "HTTPDNSPrimitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSVendors",
            dependencies: [
                "HTTPDNSCurl",
                "HTTPDNSCore",
                "HTTPDNSMessages",
                "HTTPDNSPrimitives",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Signing"])),
                .product(name: "CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Signing"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNS",
            dependencies: [
                "CHTTPDNSZlib",
                "HTTPDNSCurl",
                "HTTPDNSCore",
                "HTTPDNSPrimitives",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Digest"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSResponseCache",
            dependencies: [
                "CHTTPDNSZlib",
                "HTTPDNSCurl",
                "HTTPDNSCore",
                "HTTPDNS",
                "HTTPDNSPrimitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSMonitor",
            dependencies: [
                "HTTPDNSCore",
                "HTTPDNS",
                "HTTPDNSPrimitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSConfiguration",
            dependencies: [
                "HTTPDNSCore",
                "HTTPDNS",
                "HTTPDNSPrimitives",
                "HTTPDNSResponseCache",
                "HTTPDNSVendors",
                .product(
                    name: "Configuration",
                    package: "swift-configuration",
                    condition: .when(traits: ["SwiftConfiguration"])
                ),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams", condition: .when(traits: ["YAML"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSControl",
            dependencies: [
                "HTTPDNSCore",
                "HTTPDNS",
                "HTTPDNSPrimitives",
                "HTTPDNSMonitor",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        // It brings full Foundation and FoundationNetworking, which come with Swift.
        .target(
            name: "HTTPDNSFoundation",
            dependencies: [
                "HTTPDNSCore",
                "HTTPDNS",
                "HTTPDNSPrimitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSLocalProvider",
            dependencies: [
                "HTTPDNSCore",
                "HTTPDNSMessages",
                "HTTPDNSConfiguration",
                "HTTPDNSPrimitives",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["LocalProvider"])),
                .product(name: "CryptoExtras", package: "swift-crypto", condition: .when(traits: ["LocalProvider"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["LocalProvider"])),
                .product(name: "HummingbirdHTTP2", package: "hummingbird", condition: .when(traits: ["LocalProvider"])),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["LocalProvider"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["LocalProvider"])),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["LocalProvider"])
                ),
                .product(name: "SwiftASN1", package: "swift-asn1", condition: .when(traits: ["LocalProvider"])),
                .product(name: "X509", package: "swift-certificates", condition: .when(traits: ["LocalProvider"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSMetrics",
            dependencies: [
                "HTTPDNSCore",
                "HTTPDNS",
                "HTTPDNSPrimitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSNIO",
            dependencies: [
                "HTTPDNSCore",
                "HTTPDNS",
                "HTTPDNSMessages",
                "HTTPDNSPrimitives",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSGRPC",
            dependencies: [
                "HTTPDNSCore",
                "HTTPDNSPrimitives",
                .product(name: "GRPCCore", package: "grpc-swift-2", condition: .when(traits: ["GRPC"])),
                .product(
                    name: "GRPCNIOTransportHTTP2Posix",
                    package: "grpc-swift-nio-transport",
                    condition: .when(traits: ["GRPC"])
                ),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSServiceLifecycle",
            dependencies: [
                "HTTPDNS",
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
                .product(
                    name: "UnixSignals",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPDNSTesting",
            dependencies: [
                "HTTPDNSCore", "HTTPDNS", "HTTPDNSPrimitives",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "resolve-test",
            dependencies: [
                "CHTTPDNSProcess",
                "HTTPDNSCore",
                "HTTPDNS",
                "HTTPDNSConfiguration",
                "HTTPDNSControl",
                "HTTPDNSLocalProvider",
                "HTTPDNSNIO",
                "HTTPDNSPrimitives",
                "HTTPDNSResponseCache",
                "HTTPDNSMonitor",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["CommandLine"])
                ),
                .product(name: "Histogram", package: "hdrhistogram-swift", condition: .when(traits: ["CommandLine"])),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ServerRig",
            dependencies: ["HTTPDNSPrimitives", .product(name: "Logging", package: "swift-log")],
            path: "Tests/ServerRig",
            swiftSettings: settings
        ),
        .target(
            name: "ClientRig",
            dependencies: [
                "HTTPDNS", "HTTPDNSCurl", "HTTPDNSPrimitives", "ServerRig",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/ClientRig",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "httpdns-demo",
            dependencies: ["HTTPDNS", "HTTPDNSConfiguration", "ServerRig"],
            path: "demo/Sources",
            swiftSettings: settings
        ),
        // A lookup takes less than the call of a process boundary: what measures it is linked with it, and reaches the cache
        // through package access. The rest of Benchmarks/ is a package of its own.
        .target(name: "AllocationCounter", path: "Benchmarks/AllocationCounter"),
        .target(name: "BenchmarkOrigin", path: "Benchmarks/Origin"),
        .target(name: "PeerLookups", path: "Benchmarks/PeerLookups", linkerSettings: [.linkedLibrary("resolv")]),
        .executableTarget(
            name: "httpdns-bench-resolver",
            dependencies: [
                "AllocationCounter", "BenchmarkOrigin", "PeerLookups", "CHTTPDNSCurl", "HTTPDNSCurl", "HTTPDNSCore",
                "HTTPDNS",
                "HTTPDNSConfiguration", "HTTPDNSPrimitives", "ServerRig",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["CommandLine"])
                ),
            ],
            path: "Benchmarks/Resolver",
            swiftSettings: settings
        ),
        // Counts need a release build of the client alone, which this package makes without what the client is compared with.
        .executableTarget(
            name: "httpdns-count-operations",
            dependencies: [
                "BenchmarkOrigin", "HTTPDNS", "HTTPDNSMonitor", "HTTPDNSResponseCache",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Benchmarks/Operations",
            swiftSettings: settings
        ),
        .target(name: "CHTTPDNSSimulation", path: "Simulation/CSimulation"),
        .executableTarget(
            name: "httpdns-simulate",
            dependencies: [
                "CHTTPDNSSimulation", "HTTPDNS", "HTTPDNSCore", "HTTPDNSPrimitives", "HTTPDNSResponseCache",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Simulation/Program",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "httpdns-linkage-probe",
            dependencies: ["HTTPDNS"],
            path: "Tests/LinkageProbe",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "httpdns-stub-probe",
            dependencies: ["HTTPDNS", "HTTPDNSTesting"],
            path: "Tests/StubProbe",
            swiftSettings: settings
        ),
        // The paragraph about service groups in Docs/Operations, which HTTPDNSServiceLifecycleTests runs in a process of its
        // own. As strangers write it: without the settings above.
        .target(
            name: "LifecycleExample",
            dependencies: [
                "HTTPDNS",
                "HTTPDNSServiceLifecycle",
                .product(name: "Logging", package: "swift-log"),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
            ],
            path: "Examples/Sources/Lifecycle",
            swiftSettings: [.define("HTTPDNS_REPOSITORY")]
        ),
        // The program in Docs/Providers.md, which HTTPDNSLocalProviderTests runs. As strangers write it, likewise.
        .target(
            name: "LocalProviderExample",
            dependencies: ["HTTPDNS", "HTTPDNSLocalProvider"],
            path: "Examples/Sources/LocalProvider",
            swiftSettings: [.define("HTTPDNS_REPOSITORY")]
        ),
        // The endpoint in Docs/Observability.md, which HTTPDNSMetricsTests scrapes. As strangers write it, likewise.
        .target(
            name: "PrometheusExample",
            dependencies: [
                "HTTPDNS",
                "HTTPDNSMetrics",
                .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["LocalProvider"])),
            ],
            path: "Examples/Sources/Prometheus",
            swiftSettings: [.define("HTTPDNS_REPOSITORY")]
        ),
        .executableTarget(
            name: "httpdns-session-probe",
            dependencies: ["HTTPDNS", "HTTPDNSNIO"],
            path: "Tests/SessionProbe",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "httpdns-service-probe",
            dependencies: [
                "HTTPDNS",
                "HTTPDNSConfiguration",
                "LifecycleExample",
                .product(name: "Logging", package: "swift-log"),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
            ],
            path: "Tests/ServiceProbe",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "httpdns-monitor-probe",
            dependencies: ["HTTPDNS", "HTTPDNSMonitor", "ServerRig"],
            path: "Tests/MonitorProbe",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "httpdns-cache-probe",
            dependencies: [
                "HTTPDNS", "HTTPDNSResponseCache", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/CacheProbe",
            swiftSettings: settings
        ),
        .testTarget(
            name: "LinkageTests",
            dependencies: ["HTTPDNSMetrics", "ServerRig", "httpdns-linkage-probe", "resolve-test"],
            swiftSettings: settings
        ),
        .testTarget(name: "ServerRigTests", dependencies: ["ServerRig"], swiftSettings: settings),
        .testTarget(name: "HTTPDNSPrimitivesTests", dependencies: ["HTTPDNSPrimitives"], swiftSettings: settings),
        .testTarget(
            name: "HTTPDNSCurlTests",
            dependencies: ["HTTPDNSCurl", "HTTPDNSPrimitives", "ServerRig"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSCoreTests",
            dependencies: [
                "HTTPDNSCurl", "HTTPDNSCore", "HTTPDNSMessages", "HTTPDNSPrimitives", "HTTPDNSTesting",
                "HTTPDNSVendors", "ServerRig",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSMetricsTests",
            dependencies: [
                "ClientRig", "HTTPDNSCore", "HTTPDNS", "HTTPDNSMetrics", "HTTPDNSPrimitives", "HTTPDNSResponseCache",
                "HTTPDNSTesting",
                "HTTPDNSVendors", "PrometheusExample", "ServerRig",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "Yams", package: "Yams", condition: .when(traits: ["YAML"])),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSTests",
            dependencies: [
                "ClientRig", "HTTPDNSCurl", "HTTPDNSCore", "HTTPDNS", "HTTPDNSPrimitives", "HTTPDNSTesting",
                "ServerRig",
                .product(
                    name: "InMemoryTracing",
                    package: "swift-distributed-tracing",
                    condition: .when(traits: ["Tracing"])
                ),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSResponseCacheTests",
            dependencies: [
                "ClientRig", "HTTPDNSCurl", "HTTPDNSCore", "HTTPDNS", "HTTPDNSPrimitives", "HTTPDNSResponseCache",
                "HTTPDNSTesting",
                "ServerRig", "httpdns-cache-probe",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["CacheSuite/cases.txt"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSMonitorTests",
            dependencies: [
                "ClientRig", "HTTPDNSCore", "HTTPDNS", "HTTPDNSPrimitives", "HTTPDNSResponseCache", "HTTPDNSTesting",
                "HTTPDNSMonitor", "ServerRig", "httpdns-monitor-probe",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["HAR"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSConfigurationTests",
            dependencies: [
                "HTTPDNSCore", "HTTPDNS", "HTTPDNSConfiguration", "HTTPDNSPrimitives", "HTTPDNSResponseCache",
                "HTTPDNSTesting", "HTTPDNSVendors", "ServerRig",
                .product(
                    name: "Configuration",
                    package: "swift-configuration",
                    condition: .when(traits: ["SwiftConfiguration"])
                ),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSControlTests",
            dependencies: [
                "HTTPDNSCore", "HTTPDNS", "HTTPDNSControl", "HTTPDNSPrimitives", "HTTPDNSTesting",
                "HTTPDNSMonitor", "ServerRig",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSFoundationTests",
            dependencies: [
                "HTTPDNS", "HTTPDNSFoundation", "HTTPDNSPrimitives", "HTTPDNSResponseCache", "HTTPDNSTesting",
                "ServerRig",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSLocalProviderTests",
            dependencies: [
                "HTTPDNSCurl", "HTTPDNSCore", "HTTPDNS", "HTTPDNSConfiguration", "HTTPDNSLocalProvider",
                "HTTPDNSPrimitives", "HTTPDNSTesting", "HTTPDNSVendors", "LocalProviderExample", "ServerRig",
                "resolve-test",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSTestingTests",
            dependencies: [
                "ClientRig", "HTTPDNSCore", "HTTPDNS", "HTTPDNSPrimitives", "HTTPDNSTesting", "ServerRig",
                "httpdns-stub-probe",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSServiceLifecycleTests",
            dependencies: [
                "HTTPDNSCore", "HTTPDNS", "HTTPDNSConfiguration", "HTTPDNSServiceLifecycle", "ServerRig",
                "httpdns-service-probe",
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
                .product(
                    name: "ServiceLifecycleTestKit",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])
                ),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "HTTPDNSConfiguration", "HTTPDNSCore", "HTTPDNSMetrics", "HTTPDNSPrimitives",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams", condition: .when(traits: ["YAML"])),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "ClientRig", "HTTPDNSCurl", "HTTPDNSCore", "HTTPDNS", "HTTPDNSConfiguration", "HTTPDNSControl",
                "HTTPDNSGRPC", "HTTPDNSNIO", "HTTPDNSPrimitives",
                "HTTPDNSTesting", "ServerRig", "httpdns-session-probe", "resolve-test",
                .product(
                    name: "AsyncHTTPClient",
                    package: "async-http-client",
                    condition: .when(traits: ["Peers"])
                ),
                .product(name: "GRPCCore", package: "grpc-swift-2", condition: .when(traits: ["GRPC"])),
                .product(
                    name: "GRPCNIOTransportHTTP2Posix",
                    package: "grpc-swift-nio-transport",
                    condition: .when(traits: ["GRPC"])
                ),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["NIO"])),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPDNSNIOTests",
            dependencies: ["HTTPDNSMessages", "HTTPDNSNIO", "HTTPDNSPrimitives"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ResolveTestTests",
            dependencies: [
                "HTTPDNSCore", "HTTPDNS", "HTTPDNSControl", "HTTPDNSPrimitives", "HTTPDNSTesting",
                "HTTPDNSMonitor", "HTTPDNSVendors", "ServerRig", "resolve-test",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            exclude: ["Golden/Texts", "Schema/validate.py"],
            swiftSettings: settings
        ),
    ]
)
