// swift-tools-version: 6.2
import PackageDescription

// Programs that use the library as a stranger would: nothing here is reached but the public products.
let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-httpdns", path: "..")],
    targets: [
        .executableTarget(
            name: "FirstRequest",
            dependencies: [
                .product(name: "HTTPDNSClient", package: "swift-httpdns"),
                .product(name: "HTTPDNSConfiguration", package: "swift-httpdns"),
            ]
        )
    ]
)
