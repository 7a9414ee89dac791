// swift-tools-version: 6.2
import PackageDescription

// The library under test is instrumented by flags on the command line (README.md), this package's own target by these.
let package = Package(
    name: "httpdns-fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-httpdns", path: "..", traits: [.defaults, "NIO"])],
    targets: [
        .executableTarget(
            name: "httpdns-fuzz",
            dependencies: [
                .product(name: "HTTPDNS", package: "swift-httpdns"),
                .product(name: "HTTPDNSCore", package: "swift-httpdns"),
                .product(name: "HTTPDNSConfiguration", package: "swift-httpdns"),
                .product(name: "HTTPDNSControl", package: "swift-httpdns"),
                .product(name: "HTTPDNSNIO", package: "swift-httpdns"),
                .product(name: "HTTPDNSTesting", package: "swift-httpdns"),
                .product(name: "HTTPDNSVendors", package: "swift-httpdns"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .unsafeFlags(["-sanitize=fuzzer,address", "-parse-as-library"]),
            ],
            // The Swift linker script and libFuzzer's sections only go together in lld.
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]
        )
    ]
)
