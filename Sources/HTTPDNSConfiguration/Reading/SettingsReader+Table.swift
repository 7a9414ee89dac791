// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The reader of declared settings.
extension SettingsReader {
    /// Reads the settings of a section.
    /// - Parameter name: The name of the section in errors; nil for its path.
    /// - Returns: The values of the keys; nil when the node is no mapping.
    @discardableResult
    mutating func read<Root>(
        _ settings: [Setting<Root>],
        of node: ConfigurationNode,
        path: String,
        name: String? = nil,
        into root: inout Root
    ) -> Fields? {
        guard var fields = fields(of: node, KeyTable(name ?? path, settings), path: path) else { return nil }
        read(settings[...], &fields, path: path, into: &root)
        return fields
    }

    /// Reads some settings of a section.
    mutating func read<Root>(
        _ settings: ArraySlice<Setting<Root>>,
        _ fields: inout Fields,
        path: String,
        into root: inout Root
    ) {
        for setting in settings {
            guard let node = fields[setting.key] else { continue }
            let before = mistakes.count
            setting.read(&self, node, path.isEmpty ? setting.key : "\(path).\(setting.key)", &root)
            if mistakes.count > before { fields.bad.insert(setting.key) }
        }
    }

    /// Reads a single value; nil without it, and after a mistake.
    mutating func read<Value>(_ form: SettingForm<Value>, of node: ConfigurationNode?, path: String) -> Value? {
        node.flatMap { form.read(&self, $0, path, nil) }
    }
}
