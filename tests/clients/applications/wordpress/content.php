<?php
// Fills a blog with several years of content, the same in each run.
wp_set_current_user( 1 );
foreach ( array( 'editor', 'author', 'contributor', 'subscriber' ) as $role ) {
    for ( $i = 0; $i < 4; $i++ ) {
        wp_insert_user( array( 'user_login' => "$role$i", 'user_pass' => 'p', 'user_email' => "$role$i@blog.example", 'role' => $role, 'display_name' => ucfirst( $role ) . " Ünal $i" ) );
    }
}
$categories = array();
foreach ( array( 'News', 'Travel', 'Cooking', 'Straßen', 'Œuvres', 'Ärger' ) as $i => $name ) {
    $categories[] = wp_insert_term( $name, 'category', array( 'description' => "About $name", 'parent' => $i > 3 ? $categories[ $i - 4 ] : 0 ) )['term_id'];
}
for ( $i = 0; $i < 40; $i++ ) {
    $id = wp_insert_post( array(
        'post_title'    => "Post $i: " . array( 'apple', 'Äpfel', 'banana', "l'été", '日本語 🍣' )[ $i % 5 ],
        'post_content'  => "Text of $i. " . str_repeat( "word$i lorem ipsum 100% under_score ", $i % 7 + 1 ),
        'post_excerpt'  => $i % 3 ? "Excerpt $i" : '',
        'post_status'   => array( 'publish', 'publish', 'publish', 'draft', 'private', 'publish', 'pending' )[ $i % 7 ],
        'post_author'   => 1 + $i % 9,
        'post_date'     => sprintf( '20%02d-%02d-%02d %02d:00:00', 18 + intdiv( $i, 10 ), 1 + $i % 12, 1 + $i % 28, $i % 24 ),
        'post_category' => array( $categories[ $i % 6 ], $categories[ ( $i * 5 + 1 ) % 6 ] ),
        'tags_input'    => array( 'tag' . $i % 5, 'Tag' . $i % 3, "o'tag" . $i % 4 ),
        'meta_input'    => array( 'price' => $i * 1.5, 'color' => array( 'red', 'green', 'blue' )[ $i % 3 ], 'sizes' => range( 1, $i % 4 + 1 ) ),
    ) );
    wp_update_post( array( 'ID' => $id, 'post_content' => get_post( $id )->post_content . ' changed', 'edit_date' => true ) );
    for ( $c = 0; $c < $i % 4; $c++ ) {
        $parent = wp_insert_comment( array( 'comment_post_ID' => $id, 'comment_author' => "Visitor $c", 'comment_author_email' => "v$c@x.example", 'comment_content' => "Comment $c on $i <b>ok</b>", 'comment_approved' => $c % 3 ? 1 : 0, 'comment_date' => sprintf( '2022-02-%02d 10:%02d:00', 1 + $c, $i ), 'comment_meta' => array( 'rating' => $c ), 'comment_parent' => $c > 1 ? $parent : 0 ) );
    }
}
for ( $i = 0; $i < 5; $i++ ) {
    wp_insert_post( array( 'post_type' => 'page', 'post_title' => "Page $i", 'post_status' => 'publish', 'menu_order' => 5 - $i, 'post_parent' => $i > 2 ? 2 : 0, 'post_date' => "2021-05-0" . ( $i + 1 ) . ' 08:00:00' ) );
}
$menu = wp_create_nav_menu( 'Main' );
wp_update_nav_menu_item( $menu, 0, array( 'menu-item-title' => 'Start', 'menu-item-url' => 'http://blog.example/', 'menu-item-status' => 'publish' ) );
wp_trash_post( 10 );
wp_untrash_post( 10 );
wp_trash_post( 12 );
wp_delete_post( 14, true );
wp_update_term( $categories[1], 'category', array( 'name' => 'Travelling', 'slug' => 'travel' ) );
wp_delete_term( $categories[2], 'category' );
wp_update_comment( array( 'comment_ID' => 3, 'comment_content' => 'Edited' ) );
wp_set_comment_status( 5, 'spam' );
wp_delete_user( 6, 1 );
add_user_meta( 2, 'nickname2', "d'Artagnan" );
set_transient( 'walk', array( 1, 2, 3 ), 3600 );
delete_transient( 'walk' );
delete_expired_transients( true );
stick_post( 20 );
