// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
internal import HTTPDNSPrimitives

extension FileSettings {
    /// The source of a secret, never the secret itself.
    package enum SecretPlace: Hashable, Sendable {
        case file(String)
        case environment(String)
        /// The secret itself, as a reader of swift-configuration has it.
        case text(SecretText)

        package var live: HTTPDNSSecret {
            switch self {
            case .file(let path): .file(path)
            case .environment(let name): .environment(name)
            case .text(let text): .text(text.value)
            }
        }

        static let settings: [Setting<SecretPlace?>] = [
            .init("file", \.self, SettingForm<String>.readableFile("the path of a file").map(SecretPlace.file))
                .means("The file with the secret."),
            .init("env", \.self, variable.map(SecretPlace.environment)).means(
                "The environment variable with the secret."
            ),
        ]

        private static let variable: SettingForm<String> = {
            let allowed = "the name of an environment variable"
            return SettingForm(allowed) { (text, _) throws(ValueMistake) in
                guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "=") }) else {
                    throw ValueMistake("found \(quoted(text)); allowed: \(allowed)")
                }
                return text
            }
        }()
    }

    /// A secret that is never printed.
    package struct SecretText: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        let value: String

        init(_ value: String) { self.value = value }

        package var description: String { "a secret" }
        package var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension SettingForm<FileSettings.SecretPlace> {
    /// `{ file: PATH }` or `{ env: NAME }`. A secret in clear text is not repeated.
    static let secret = SettingForm { _ in
        var facts = SettingFacts.mapping("a secret", Value.settings, of: nil)
        (facts.isSecret, facts.isValue) = (true, true)
        facts.values = "[a secret](#providers)"
        return facts
    } read: { reader, node, path, _ in
        guard node.isMapping else {
            if reader.allowsSecretTexts, let text = node.text, !text.isEmpty {
                return .text(FileSettings.SecretText(text))
            }
            reader.mistakes.add(
                "\(path): found \(node.isEmpty ? "nothing" : "a value"); allowed: { file: PATH } or { env: NAME }",
                at: node.position,
                hint: "a secret itself does not belong into this file"
            )
            return nil
        }
        guard var fields = reader.fields(of: node, KeyTable("a secret", Value.settings), path: path) else { return nil }
        guard (fields["file"] == nil) != (fields["env"] == nil) else {
            reader.mistakes.add(
                "\(path): it must have one of the keys file and env",
                at: node.position,
                hint: "such as { file: /run/secrets/alidns }"
            )
            return nil
        }
        var place: Value?
        reader.read(Value.settings, &fields, path: path, into: &place)
        return place
    }
}
