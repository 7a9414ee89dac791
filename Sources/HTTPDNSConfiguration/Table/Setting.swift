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
    /// Whether its form depends on other settings of the section, which are read before it.
    let isDependent: Bool
    private let describe: @Sendable (Root) -> SettingFacts
    private(set) var requirement: SettingRequirement?
    private var sentence = ""
    private var isInFileOnly = false
    /// The text of what applies without the setting, where its property is nil.
    private var preset: String?

    /// Returns the description, which may depend on other settings of the section.
    func facts(_ root: Root) -> SettingFacts {
        var facts = describe(root)
        facts.key = key
        facts.sentence = sentence
        facts.isInFileOnly = facts.isInFileOnly || isInFileOnly
        facts.isRequired = requirement != nil
        facts.text = facts.text ?? preset
        return facts
    }
}

/// The consequence of a setting that a section must have.
struct SettingRequirement: Sendable {
    /// The mistake after which the later settings of the section are not read.
    enum End: Sendable {
        case none, missing, missingOrWrong
    }

    /// The hint of the error without it.
    var hint: String
    var end: End
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
    package var isRequired = false
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
    /// The forms of an entry of a list, or of a mapping with names of the user.
    package var entries: [SettingFacts] = []

    /// Returns the description of a mapping with settings.
    static func mapping<Part>(_ name: String, _ settings: [Setting<Part>], of part: Part) -> SettingFacts {
        SettingFacts(isValue: false, name: name, parts: settings.map { $0.facts(part) })
    }
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
        self.init(key, path, isDependent: false, { _ in form }, set)
    }

    /// Declares a setting whose form depends on other settings of its section.
    init<Value>(
        _ key: String,
        _ path: any WritableKeyPath<Root, Value> & Sendable,
        ofSection form: @escaping @Sendable (Root) -> SettingForm<Value>
    ) {
        self.init(key, path, isDependent: true, form)
    }

    /// Declares a section whose settings are parts of a property.
    init<Part: Sendable>(_ key: String, _ path: any WritableKeyPath<Root, Part> & Sendable, section: [Setting<Part>]) {
        self.init(key, path, isDependent: false, { root in .section(section) { [old = root[keyPath: path]] _ in old } })
    }

    private init<Value>(
        _ key: String,
        _ path: any WritableKeyPath<Root, Value> & Sendable,
        isDependent: Bool,
        _ form: @escaping @Sendable (Root) -> SettingForm<Value>,
        _ set: (@Sendable (inout Root, Value) -> Void)? = nil
    ) {
        self.init(key, isDependent: isDependent) { reader, node, place, root in
            guard let value = form(root).read(&reader, node, place, root[keyPath: path]) else { return }
            if let set { set(&root, value) } else { root[keyPath: path] = value }
        } describe: { root in
            var facts = form(root).facts(root[keyPath: path])
            facts.property = "\(path)".split(separator: ".").last.map(String.init)
            return facts
        }
    }

    /// Declares a setting of a property that is nil without it.
    init<Value>(_ key: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ form: SettingForm<Value>) {
        self.init(key, path, form.optional)
    }

    /// Declares a value that states a fact, and that has no property.
    init<Value>(_ key: String, only form: SettingForm<Value>) {
        self.init(key) { reader, node, path, _ in
            _ = form.read(&reader, node, path, nil)
        } describe: { _ in
            form.facts(nil)
        }
    }

    /// Declares a key of files that code of its own reads, before or after the section.
    /// - Parameter entries: Made when the description is: a path of a property takes long to describe, and reading a file needs none.
    static func own(
        _ key: String,
        entries: @autoclosure @escaping @Sendable () -> [SettingFacts] = []
    ) -> Setting {
        Setting(key, read: { _, _, _, _ in }, describe: { _ in SettingFacts(isInFileOnly: true, entries: entries()) })
    }

    private init(
        _ key: String,
        isDependent: Bool = false,
        read: @escaping @Sendable (inout SettingsReader, ConfigurationNode, String, inout Root) -> Void,
        describe: @escaping @Sendable (Root) -> SettingFacts
    ) {
        self.key = key
        self.isDependent = isDependent
        self.read = read
        self.describe = describe
    }

    /// Returns the setting with its meaning, in Markdown.
    func means(_ sentence: String) -> Setting {
        var setting = self
        setting.sentence = sentence
        return setting
    }

    /// Returns the setting with the text of what applies without it.
    func defaulting(to text: String) -> Setting {
        var setting = self
        setting.preset = text
        return setting
    }

    /// Returns the setting for files alone.
    func inFileOnly() -> Setting {
        var setting = self
        setting.isInFileOnly = true
        return setting
    }

    /// Returns the setting as one that its section must have.
    func required(_ hint: String, end: SettingRequirement.End = .missing) -> Setting {
        var setting = self
        setting.requirement = SettingRequirement(hint: hint, end: end)
        return setting
    }
}
