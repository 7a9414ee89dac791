/// The version of this package, as programs and diagnostics say it.
package enum LibraryVersion {
    package static let current = "0.1.0"
}
