// swift-tools-version: 6.2
import PackageDescription

// Programs that use the library as a stranger would: nothing here is reached but the public products. The Swift code in
// README.md, Docs/ and the DocC articles is taken from here, which Tests/DocumentationTests checks.
let package = Package(
    name: "Examples",
    // The package is for Linux. For an editor on macOS: without this SwiftPM assumes a macOS too old for the dependencies.
    platforms: [.macOS(.v15)],
    traits: [.trait(name: "Signing", description: "Accounts of vendors that sign their queries")],
    dependencies: [
        .package(
            name: "swift-httpdns",
            path: "..",
            traits: [.defaults, "GRPC", "NIO", .trait(name: "Signing", condition: .when(traits: ["Signing"]))]
        ),
        // What a server imports beside this package, for NameCollisionTests alone.
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        .executableTarget(
            name: "FirstProgram",
            dependencies: [.product(name: "HTTPDNS", package: "swift-httpdns")]
        ),
        .executableTarget(
            name: "FirstRequest",
            dependencies: [
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSConfiguration", package: "swift-httpdns"),
            ]
        ),
        .executableTarget(
            name: "Quickstart",
            dependencies: [
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSConfiguration", package: "swift-httpdns"),
            ]
        ),
        // Its account signs its queries: swift run --package-path Examples --traits Signing Alibaba
        .executableTarget(
            name: "Alibaba",
            dependencies: [
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSVendors", package: "swift-httpdns"),
            ]
        ),
        .executableTarget(
            name: "Tencent",
            dependencies: [
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSVendors", package: "swift-httpdns"),
            ]
        ),
        .target(
            name: "OtherClients",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSGRPC", package: "swift-httpdns"),
                .product(name: "HTTPDNSNIO", package: "swift-httpdns"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .target(
            name: "Guide",
            dependencies: [
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSConfiguration", package: "swift-httpdns"),
                .product(name: "HTTPDNSResponseCache", package: "swift-httpdns"),
                .product(name: "HTTPDNSCore", package: "swift-httpdns"),
                .product(name: "HTTPDNSControl", package: "swift-httpdns"),
                .product(name: "HTTPDNSMetrics", package: "swift-httpdns"),
                .product(name: "HTTPDNSMonitor", package: "swift-httpdns"),
                .product(name: "HTTPDNSVendors", package: "swift-httpdns"),
            ]
        ),
        .testTarget(
            name: "GuideTests",
            dependencies: [
                "Guide",
                .product(name: "HTTPDNSCore", package: "swift-httpdns"),
                .product(name: "HTTPDNSTesting", package: "swift-httpdns"),
            ]
        ),
        // Built with the traits that are on by default, as most programs are; the tests of the package have all of them.
        .testTarget(
            name: "DefaultTraitsTests",
            dependencies: [
                .product(name: "HTTPDNSCore", package: "swift-httpdns"),
                .product(name: "HTTPDNSVendors", package: "swift-httpdns"),
            ]
        ),
        // One file that imports the packages beside this one: no name of theirs may become ambiguous.
        .testTarget(
            name: "NameCollisionTests",
            dependencies: [
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSConfiguration", package: "swift-httpdns"),
                .product(name: "HTTPDNSTesting", package: "swift-httpdns"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]
        ),
    ]
)
