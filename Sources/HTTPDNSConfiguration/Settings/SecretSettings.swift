// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension SettingForm {
    /// The form of the place of a secret: `{ file: PATH }` or `{ env: NAME }`. A secret in clear text is not repeated.
    /// - Parameter text: The value of the secret itself, which a reader of swift-configuration may have; nil where it may not.
    static func secret(
        file: @escaping @Sendable (String) -> Value,
        environment: @escaping @Sendable (String) -> Value,
        text: (@Sendable (String) -> Value)? = nil
    ) -> SettingForm {
        let settings: [Setting<Value?>] = [
            .init("file", \.self, SettingForm<String>.readableFile("the path of a file").map(file))
                .means("The file with the secret."),
            .init("env", \.self, SettingForm<String>.variable.map(environment))
                .means("The environment variable with the secret."),
        ]
        let table = KeyTable("a secret", settings)
        return SettingForm { _ in
            var facts = SettingFacts.mapping(table.name, settings, of: nil)
            (facts.isSecret, facts.isValue) = (true, true)
            facts.values = "[a secret](#providers)"
            return facts
        } read: { reader, node, path, _ in
            guard node.isMapping else {
                if reader.allowsSecretTexts, let secret = node.text, !secret.isEmpty {
                    if let text { return text(secret) }
                    reader.mistakes.add(
                        "\(path): found a value; allowed: one of \(path).file and \(path).env",
                        at: node.position,
                        hint: "give the place of the password"
                    )
                    return nil
                }
                reader.mistakes.add(
                    "\(path): found \(node.isEmpty ? "nothing" : "a value"); allowed: { file: PATH } or { env: NAME }",
                    at: node.position,
                    hint: "a secret itself does not belong into this file"
                )
                return nil
            }
            guard var fields = reader.fields(of: node, table, path: path) else { return nil }
            guard (fields["file"] == nil) != (fields["env"] == nil) else {
                reader.mistakes.add(
                    "\(path): it must have one of the keys file and env",
                    at: node.position,
                    hint: "such as { file: /run/secrets/alidns }"
                )
                return nil
            }
            var place: Value?
            reader.read(settings, &fields, path: path, into: &place)
            return place
        }
    }
}

extension SettingForm<HTTPDNSSecret> {
    static let secret = secret(file: { .file($0) }, environment: { .environment($0) }, text: { .text($0) })
}

extension SettingForm<HTTPDNSTrust.KeyPassword> {
    /// It is read again with the key, whenever that has changed.
    static let keyPassword = secret(file: { .file($0) }, environment: { .environment($0) })
}

extension SettingForm<String> {
    fileprivate static let variable: SettingForm = {
        let allowed = "the name of an environment variable"
        return SettingForm(allowed) { (text, _) throws(ValueMistake) in
            guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "=") }) else {
                throw ValueMistake("found \(quoted(text)); allowed: \(allowed)")
            }
            return text
        }
    }()
}
