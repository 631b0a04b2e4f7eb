class VaultSteward < Formula
  desc "Companion daemon for Obsidian vaults"
  homepage "{repository}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "{repository}/releases/download/v{version}/vault-steward-{version}-aarch64-apple-darwin.tar.gz"
      sha256 "{sha256:vault-steward-{version}-aarch64-apple-darwin.tar.gz}"
    end
    on_intel do
      url "{repository}/releases/download/v{version}/vault-steward-{version}-x86_64-apple-darwin.tar.gz"
      sha256 "{sha256:vault-steward-{version}-x86_64-apple-darwin.tar.gz}"
    end
  end

  on_linux do
    on_arm do
      url "{repository}/releases/download/v{version}/vault-steward-{version}-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "{sha256:vault-steward-{version}-aarch64-unknown-linux-gnu.tar.gz}"
    end
    on_intel do
      url "{repository}/releases/download/v{version}/vault-steward-{version}-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "{sha256:vault-steward-{version}-x86_64-unknown-linux-gnu.tar.gz}"
    end
  end

  def install
    bin.install "steward"
    man1.install Dir["man/*.1.gz"]
    bash_completion.install "completions/steward.bash" => "steward"
    zsh_completion.install "completions/_steward"
    fish_completion.install "completions/steward.fish"
    doc.install Dir["doc/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/steward --version")
  end
end
