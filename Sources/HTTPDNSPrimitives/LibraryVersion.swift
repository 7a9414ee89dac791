/// The version of this package, as shown by programs and diagnostics.
package enum LibraryVersion {
    package static let current = "0.1.0"
}
