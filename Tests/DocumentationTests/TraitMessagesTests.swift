// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

/// Keeps the compiler's messages about missing traits true. No test builds the package without a trait.
struct TraitMessagesTests {
    @Test("A symbol without its trait is unavailable by a message with that trait")
    func messages() throws {
        let message = /message: "[^"\n]* the trait ([A-Za-z]+) of the package swift-httpdns"/
        var named: Set<String> = []
        for path in Document.paths(below: "Sources", suffix: ".swift") {
            let text = try Document(path).text
            let traits = Set(text.matches(of: message).map { String($0.output.1) })
            // Each declaration that is not available has a message, and the build condition of its file is the trait.
            #expect(text.matches(of: /@available\(\s*\*,\s*unavailable,/).isEmpty == traits.isEmpty, "\(path)")
            for trait in traits { #expect(text.contains("#if \(trait)\n"), "\(path): \(trait)") }
            named.formUnion(traits)
        }
        #expect(
            named == [
                "GRPC", "LocalProvider", "Metrics", "NIO", "ServiceLifecycle", "SwiftConfiguration", "Tracing", "YAML",
            ],
            "other traits change behavior, and have messages at run time"
        )
        let package = try Document("Package.swift").text
        for trait in named { #expect(package.contains("name: \"\(trait)\""), "\(trait)") }
    }
}
