// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A setting of a section: its key in the file, its property, its form and its sentence.
///
/// A section declares them once. The readers of files and of swift-configuration, the schema and the reference come from these
/// declarations:
///
///     .init("idle_timeout", \.idleTimeout, .duration(.seconds(1)...day)).means("The time ...")
struct Setting<Root>: Sendable {
    /// The key in the section.
    let key: String
    /// Sets the property to the value of a node, or adds the mistakes.
    let read: @Sendable (inout SettingsReader, ConfigurationNode, _ path: String, inout Root) -> Void
    private let describe: @Sendable (Root) -> SettingFacts
    private var sentence = ""
    private var isInFileOnly = false

    /// Returns the description, which may depend on other settings of the section.
    func facts(_ root: Root) -> SettingFacts {
        var facts = describe(root)
        facts.key = key
        facts.sentence = sentence
        facts.isInFileOnly = facts.isInFileOnly || isInFileOnly
        return facts
    }
}

/// The description of a setting, for sources other than files, the schema and the reference.
package struct SettingFacts: Sendable {
    package var key = ""
    /// The name of the property in code; nil when code of its own reads the setting.
    package var property: String?
    /// The meaning, in Markdown.
    package var sentence = ""
    /// The allowed values, in Markdown.
    package var values = ""
    /// The JSON schema; empty for a part with a form of its own.
    package var schema = ""
    /// The text of the value in some settings; nil for none.
    package var text: String?
    package var isList = false
    package var isSecret = false
    /// Whether sources other than files are not asked for it.
    package var isInFileOnly = false
    /// Whether it may be a text or a list, and not only a mapping.
    package var isValue = true
    /// The words that are allowed in place of a mapping.
    package var words: [String] = []
    /// The name of the mapping in errors; nil for its path.
    package var name: String?
    /// The settings of a mapping.
    package var parts: [SettingFacts] = []
}

extension Setting {
    /// Declares a setting.
    /// - Parameter set: The change that a value makes; nil to set the property.
    init<Value>(
        _ key: String,
        _ path: any WritableKeyPath<Root, Value> & Sendable,
        _ form: SettingForm<Value>,
        set: (@Sendable (inout Root, Value) -> Void)? = nil
    ) {
        self.init(key, path, ofSection: { _ in form }, set: set)
    }

    /// Declares a setting whose form depends on other settings of its section.
    init<Value>(
        _ key: String,
        _ path: any WritableKeyPath<Root, Value> & Sendable,
        ofSection form: @escaping @Sendable (Root) -> SettingForm<Value>,
        set: (@Sendable (inout Root, Value) -> Void)? = nil
    ) {
        self.init(key: key) { reader, node, place, root in
            guard let value = form(root).read(&reader, node, place, root[keyPath: path]) else { return }
            if let set { set(&root, value) } else { root[keyPath: path] = value }
        } describe: { root in
            var facts = form(root).facts(root[keyPath: path])
            facts.property = "\(path)".split(separator: ".").last.map(String.init)
            return facts
        }
    }

    /// Declares a section whose settings are parts of a property.
    init<Part: Sendable>(_ key: String, _ path: any WritableKeyPath<Root, Part> & Sendable, section: [Setting<Part>]) {
        self.init(key, path, ofSection: { root in .section(section, start: root[keyPath: path]) })
    }

    /// Declares a setting of a property that is nil without it.
    init<Value>(_ key: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ form: SettingForm<Value>) {
        self.init(
            key,
            path,
            SettingForm<Value?> {
                form.facts($0 ?? nil)
            } read: { reader, node, path, old in
                form.read(&reader, node, path, old ?? nil).map(Optional.some)
            }
        )
    }

    /// Declares a value that states a fact, and that has no property.
    init<Value>(_ key: String, only form: SettingForm<Value>) {
        self.init(key: key) { reader, node, path, _ in
            _ = form.read(&reader, node, path, nil)
        } describe: { _ in
            form.facts(nil)
        }
    }

    /// Declares a part of the file with names of the user, or one that code of its own reads after the section.
    static func own(
        _ key: String,
        _ sentence: String,
        read: @escaping @Sendable (inout SettingsReader, ConfigurationNode, _ path: String, inout Root) -> Void = {
            _,
            _,
            _,
            _ in
        }
    ) -> Setting {
        Setting(key: key, read: read) { _ in SettingFacts() }.inFileOnly().means(sentence)
    }

    private init(
        key: String,
        read: @escaping @Sendable (inout SettingsReader, ConfigurationNode, String, inout Root) -> Void,
        describe: @escaping @Sendable (Root) -> SettingFacts
    ) {
        self.key = key
        self.read = read
        self.describe = describe
    }

    /// Returns the setting with its meaning, in Markdown.
    func means(_ sentence: String) -> Setting {
        var setting = self
        setting.sentence = sentence
        return setting
    }

    /// Returns the setting for files alone.
    func inFileOnly() -> Setting {
        var setting = self
        setting.isInFileOnly = true
        return setting
    }
}
